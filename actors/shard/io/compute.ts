// What a process computes on, read from the devices that it and its children hold open.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

const gpuDevice = /^\/dev\/(nvidia\d+|kfd|dri\/renderD\d+)$/

/** Null where it cannot be read, which is not "cpu". */
export function computeOf(pid: number): 'cpu' | 'gpu' | null {
  const held = withChildren(pid).map(devicesOf)
  if (held.some((it) => it === 'gpu')) return 'gpu'
  return held.length > 0 && held.every((it) => it === 'cpu') ? 'cpu' : null
}

function devicesOf(pid: number): 'cpu' | 'gpu' | null {
  const folder = `/proc/${pid}/fd`
  try {
    const open = readdirSync(folder).map((fd) => linkOf(`${folder}/${fd}`))
    return open.some((path) => gpuDevice.test(path)) ? 'gpu' : 'cpu'
  } catch {
    return null // gone, or another user's
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return '' // closed since it was listed
  }
}

function withChildren(pid: number): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    return [pid, ...children.split(' ').filter(Boolean).map(Number).flatMap(withChildren)]
  } catch {
    return [pid] // gone, or a kernel without that file
  }
}
