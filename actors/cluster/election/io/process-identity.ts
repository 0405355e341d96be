// What identifies this process to others on its machine, and whether another's process is gone.
import { readFile, readlink } from 'node:fs/promises'
import type { ProcessIdentity } from '../protocol.ts'

/** This process. Boot id, namespace, pid and start time together are never given twice. */
export async function ownIdentity(): Promise<ProcessIdentity> {
  const [bootId, pidNamespace, stat] = await Promise.all([
    readFile('/proc/sys/kernel/random/boot_id', 'utf8'),
    readlink('/proc/self/ns/pid'),
    readFile('/proc/self/stat', 'utf8'),
  ])
  const { startTicks } = parseStat(stat)
  return { bootId: bootId.trim(), pidNamespace, pid: process.pid, startTicks }
}

/** True only where it is certain: the process ran on this machine, in sight of `self`, and is not there any more. */
export async function isGone(other: ProcessIdentity, self: ProcessIdentity): Promise<boolean> {
  if (other.bootId !== self.bootId || other.pidNamespace !== self.pidNamespace) return false
  if (other.pid === self.pid && other.startTicks === self.startTicks) return false
  try {
    const { state, startTicks } = parseStat(await readFile(`/proc/${other.pid}/stat`, 'utf8'))
    return startTicks !== other.startTicks || state === 'Z' || state === 'X'
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ESRCH') return !isThere(other.pid)
    throw error
  }
}

/** Where /proc hides the processes of other users, a signal still tells that they are there. */
function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

/** The fields after the program's name, which may itself hold spaces and parentheses. */
function parseStat(stat: string): { state: string; startTicks: number } {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const startTicks = Number(fields[19])
  if (!Number.isInteger(startTicks)) throw new Error(`not a line of /proc/PID/stat: ${stat}`)
  return { state: fields[0] ?? '', startTicks }
}
