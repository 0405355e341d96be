// The keeper of one operating-system process: starts it, adopts one that a predecessor left, watches and ends it.
import type { Behaviour } from '../../kernel/actor.ts'
import { messageOf } from '../../kernel/errors.ts'
import type { Limits } from '../../kernel/restart.ts'
import type { Event, Exit, Message, ProcessSpec } from './protocol.ts'
import { type Effect, init, type State, transition } from './state.ts'

/** What the keeper needs of the world: one slot, in which at most one process lives. `onEnd` is called once, after the whole tree of the process is gone. */
export interface Ports {
  /** Finds the process that a predecessor left and watches it from then on; undefined where none is provably ours. Throws where that cannot be known. */
  look(onEnd: (exit: Exit) => void): Promise<{ spec: ProcessSpec; pid: number } | undefined>
  /** Starts the process so that it outlives this program; the pid. Throws where it could not be started, and `onEnd` is then never called. */
  launch(spec: ProcessSpec, onEnd: (exit: Exit) => void): Promise<number>
  /** Sends the signals `by`, else those of the spec, until the whole tree is gone; a launch that is under way is ended as soon as it can be. */
  end(by?: ProcessSpec['stop']): void
  /** Stops watching; the process lives on. */
  release(): void
}

/** `limits` bound the restarts after one start command; with an intensity of 0 every end is told as `failed` and the owner decides. */
export const processKeeper = (
  ports: Ports,
  limits: Limits,
  tellOwner: (event: Event) => void,
): Behaviour<State, Message, Effect> => ({
  init,
  transition: (state, message) => transition(limits, state, message),
  perform(effect, self) {
    const ended = (attempt: number, exit: Exit): void => {
      self.tell({ type: 'ended', attempt, exit, at: self.now() })
    }
    switch (effect.do) {
      case 'say':
        return tellOwner(effect.event)
      case 'look':
        return void ports
          .look((exit) => ended(effect.attempt, exit))
          .then(
            (it) => self.tell(it === undefined ? { type: 'none' } : { type: 'found', ...it }),
            (error) => self.tell({ type: 'unknown', reason: messageOf(error) }),
          )
      case 'wait':
        return self.after(effect.delayMs, { type: 'due', attempt: effect.attempt })
      case 'end':
        return ports.end(effect.by)
      case 'launch': {
        const { attempt, spec } = effect
        return void ports
          .launch(spec, (exit) => ended(attempt, exit))
          .then(
            (pid) => self.tell({ type: 'started', attempt, pid }),
            (error) => ended(attempt, { code: null, reason: messageOf(error) }),
          )
      }
    }
  },
  async stopped() {
    ports.release()
  },
})
