// Watches one living process tree until it is gone, and ends it.
import { closeSync, constants, openSync, statSync, truncateSync } from 'node:fs'
import { Socket } from 'node:net'
import { messageOf } from '../../../kernel/errors.ts'
import type { Exit, ProcessSpec } from '../protocol.ts'
import type { RunRecord } from '../record.ts'
import { isAlive, sendSignal, statOf, treeOf } from './identity.ts'
import { isMissing, pathsOf, readNote } from './record.ts'

/** Between looks at the process, beside the fifo: descendants may close what they inherited. */
const pollMs = 2000
/** Between looks at a tree that is about to be gone. */
const closePollMs = 50
/** Looks at what outlives the process by itself, before it is killed: half a second. */
const graceLooks = 10
/** After the last signal of a spec, before what still lives is killed. */
const killAfterMs = 2000
/** A log beyond this is emptied in place. */
const maxLogBytes = 64 * 1024 * 1024

/** Where is said what goes wrong beside the process. */
export type Log = { warn(fields: object, text: string): void }

export interface Life {
  /** Sends the signals `by`, else those of the spec, then kills what is left; a second call does nothing. */
  end(by?: ProcessSpec['stop']): void
  /** Stops watching and signalling; the process lives on. */
  release(): void
}

/** A record whose process was seen. */
export type LiveRecord = RunRecord & { process: { pid: number; startTicks: number } }

/** `onGone` is called once, when neither the process nor anything that it started lives; never before this function has returned. */
export function watchLife(
  dir: string,
  record: LiveRecord,
  onGone: (exit: Exit) => void,
  log: Log,
): Life {
  const paths = pathsOf(dir)
  const timers = new Set<NodeJS.Timeout>()
  let released = false
  let ending = false
  let closing = false
  let closeLooks = 0

  const later = (delayMs: number, act: () => void): void => {
    const timer = setTimeout(() => {
      timers.delete(timer)
      act()
    }, delayMs)
    timers.add(timer)
  }
  const release = (): void => {
    released = true
    for (const timer of timers) clearTimeout(timer)
    timers.clear()
    fifo?.destroy()
  }
  const look = (): void => {
    if (released || closing || isAlive(record.process)) return
    close()
  }
  /** The process is gone: its shim notes the exit code, and what else outlives it ends with it. */
  const close = (): void => {
    closing = true
    const rest = treeOf(record)
    if (rest.length === 0) {
      release()
      onGone(exitOf(readNote(paths.rc, record.token)))
      return
    }
    closeLooks += 1
    if (!ending && closeLooks > graceLooks) for (const pid of rest) sendSignal(pid, 'SIGKILL')
    later(closePollMs, close)
  }
  const poll = (): void => {
    look()
    if (released) return
    limitLog(paths.log, log)
    later(pollMs, poll)
  }
  const signal = (name: NodeJS.Signals, to: 'group' | 'process'): void => {
    const main = isAlive(record.process) ? statOf(record.process.pid) : null
    if (main !== null) sendSignal(to === 'group' ? -main.group : record.process.pid, name)
    else if (to === 'group') for (const pid of treeOf(record)) sendSignal(pid, name)
    later(closePollMs, look)
  }
  const killRest = (): void => {
    for (const pid of treeOf(record)) sendSignal(pid, 'SIGKILL')
    later(closePollMs, look)
    later(killAfterMs, killRest)
  }

  const fifo = openFifo(paths.fifo)
  // End of file: nobody holds the fifo any more. Data: the shim says that the process ended.
  fifo?.on('data', look).on('end', look).on('error', look)
  later(0, poll)

  return {
    release,
    end(stop = record.spec.stop) {
      if (ending || released) return
      ending = true
      for (const step of stop) later(step.afterMs, () => signal(step.signal, step.to))
      later(Math.max(0, ...stop.map((step) => step.afterMs)) + killAfterMs, killRest)
    },
  }
}

/** In words how a process ended, from what its shim noted. */
function exitOf(code: number | null): Exit {
  if (code === null) return { code, reason: 'ended; nobody saw its exit code' }
  if (code > 128) return { code, reason: `was ended by signal ${code - 128}` }
  return { code, reason: `exited with code ${code}` }
}

function openFifo(path: string): Socket | undefined {
  let fd: number
  try {
    // Non-blocking, or opening would wait for a writer; in a socket, or reading would hold a thread.
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
  try {
    return new Socket({ fd, readable: true, writable: false })
  } catch (error) {
    closeSync(fd)
    throw error
  }
}

function limitLog(path: string, log: Log): void {
  try {
    if (statSync(path).size > maxLogBytes) truncateSync(path)
  } catch (error) {
    if (!isMissing(error)) log.warn({ path, problem: messageOf(error) }, 'a log is not kept short')
  }
}
