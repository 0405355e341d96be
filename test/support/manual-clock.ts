// A clock that stands still until a test moves it.
import { assertDelay, type Clock } from '../../kernel/clock.ts'

export interface ManualClock extends Clock {
  /** Moves all three clocks and calls what is due, in order of its time; what it starts is called too if due. */
  advance(byMs: number): void
  /** Moves boot and wall time only, as a suspended machine does. */
  suspend(byMs: number): void
  /** Moves the wall clock alone, as an administrator does. */
  stepWall(byMs: number): void
  /** Timers that have not fired. */
  readonly pending: number
}

export function manualClock(startMs = 0): ManualClock {
  let monotonicMs = startMs
  let suspendedMs = 0
  let wallAheadMs = Date.UTC(2026, 0, 1)
  const timers = new Set<{ atMs: number; fn: () => void }>()
  const nextDue = (untilMs: number) =>
    [...timers].filter((t) => t.atMs <= untilMs).sort((a, b) => a.atMs - b.atMs)[0]
  return {
    monotonicMs: () => monotonicMs,
    bootMs: () => monotonicMs + suspendedMs,
    wallMs: () => monotonicMs + suspendedMs + wallAheadMs,
    after(delayMs, fn) {
      assertDelay(delayMs)
      const timer = { atMs: monotonicMs + delayMs, fn }
      timers.add(timer)
      return () => timers.delete(timer)
    },
    advance(byMs) {
      const untilMs = monotonicMs + byMs
      for (let due = nextDue(untilMs); due; due = nextDue(untilMs)) {
        timers.delete(due)
        monotonicMs = due.atMs
        due.fn()
      }
      monotonicMs = untilMs
    },
    suspend: (byMs) => {
      suspendedMs += byMs
    },
    stepWall: (byMs) => {
      wallAheadMs += byMs
    },
    get pending() {
      return timers.size
    },
  }
}
