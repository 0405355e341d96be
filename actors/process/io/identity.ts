// Tells from /proc which processes live and which are provably ours.
import { readdirSync, readFileSync } from 'node:fs'
import { type Launch, markerName, markerValueOf } from '../record.ts'
import { parseStat, type Stat } from '../stat.ts'

export const readBootId = (): string =>
  readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()

/** Null where no such process runs; a zombie does not. */
export function statOf(pid: number): Stat | null {
  const stat = parseStat(readProc(pid, 'stat'))
  return stat?.running ? stat : null
}

/** The very process of the record still runs: a pid is not given twice with one start time. */
export const isAlive = (process: { pid: number; startTicks: number }): boolean =>
  statOf(process.pid)?.startTicks === process.startTicks

/** The process carries the marker of this very launch. */
export const hasMarker = (pid: number, record: Launch): boolean =>
  readProc(pid, 'environ')
    .split('\0')
    .includes(`${markerName}=${markerValueOf(record)}`)

/** Pids of all living processes with the marker: what was started with it, at any remove and in whatever group. */
export function treeOf(record: Launch): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0 && hasMarker(pid, record) && statOf(pid) !== null)
}

/** Empty where the process is gone or belongs to somebody else. */
function readProc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ESRCH' || code === 'EACCES' || code === 'EPERM') return ''
    throw error
  }
}

/** False where the process is gone, or is another user's by now. */
export function sendSignal(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ESRCH' || code === 'EPERM') return false
    throw error
  }
}
