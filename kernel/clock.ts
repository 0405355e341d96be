// Time as a port: what the kernel and io/ ask for instead of Date.now and setTimeout.
import { uptime } from 'node:os'

export interface Clock {
  /** Milliseconds that never go back; stands still while the machine is suspended. */
  monotonicMs(): number
  /** Milliseconds since the machine started, suspended time included. */
  bootMs(): number
  /** Milliseconds since 1970; steps when somebody sets the clock, so for show and for records only. */
  wallMs(): number
  /** Calls `fn` once after `delayMs`, however long; the returned function cancels it. Throws unless `delayMs` is a number of 0 or more. */
  after(delayMs: number, fn: () => void): () => void
}

/** Node fires a longer timer at once. */
const longestTimerMs = 2 ** 31 - 1

/** The clock of this machine. Its timers keep the program alive. */
export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  bootMs: () => uptime() * 1000,
  wallMs: () => Date.now(),
  after(delayMs, fn) {
    assertDelay(delayMs)
    let timer: NodeJS.Timeout
    const arm = (leftMs: number) => {
      const stepMs = Math.min(leftMs, longestTimerMs)
      timer = setTimeout(() => (leftMs > stepMs ? arm(leftMs - stepMs) : fn()), stepMs)
    }
    arm(delayMs)
    return () => clearTimeout(timer)
  },
}

/** Throws unless `delayMs` is a number of 0 or more. */
export function assertDelay(delayMs: number): void {
  if (!(delayMs >= 0)) throw new RangeError(`a delay must be 0 ms or more, not ${delayMs}`)
}
