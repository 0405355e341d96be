// Small actors for the kernel's tests: what they do is written in each test.
import { setImmediate } from 'node:timers/promises'
import type { Behaviour, ChildSpec, Self } from '../../kernel/actor.ts'
import { type CrashReport, type DeadLetter, type System, startSystem } from '../../kernel/system.ts'
import { type ManualClock, manualClock } from './manual-clock.ts'

/** An effect is a function of Self; a message is one too and runs as an effect. */
export type Act = (self: Self<Act>) => void

/** Runs each message as its one effect; `init` are the first effects. */
export const doer = (...init: Act[]): Behaviour<null, Act, Act> => ({
  init: () => [null, init],
  transition: (state, act) => [state, [act]],
  perform: (act, self) => act(self),
})

/** A permanent child with a budget of 3 in 1 s, delays of 10 to 100 ms, room for 100, stopped within 50 ms. */
export function specOf<S, M, E>(
  name: string,
  behaviour: Behaviour<S, M, E>,
  rest: Partial<ChildSpec<S, M, E>> = {},
): ChildSpec<S, M, E> {
  return {
    name,
    behaviour,
    restart: 'permanent',
    intensity: 3,
    periodMs: 1000,
    delayMs: { min: 10, max: 100 },
    capacity: 100,
    overflow: 'refuse',
    stopMs: 50,
    ...rest,
  }
}

export type Lab = {
  system: System
  clock: ManualClock
  crashes: CrashReport[]
  deadLetters: DeadLetter[]
}

/** A system on a clock that only the test moves. */
export function lab(): Lab {
  const clock = manualClock()
  const crashes: CrashReport[] = []
  const deadLetters: DeadLetter[] = []
  const system = startSystem({
    clock,
    onCrash: (report) => crashes.push(report),
    onDeadLetter: (letter) => deadLetters.push(letter),
  })
  return { system, clock, crashes, deadLetters }
}

/** Lets all actors work off what they have: some turns of the event loop. */
export async function settle(turns = 20): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) await setImmediate()
}
