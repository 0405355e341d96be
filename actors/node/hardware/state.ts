// Decides when the machine is looked at: the hardware once, the load a second after the last look was over.
import type { Step } from '../../../kernel/step.ts'
import type { Event, Message } from './protocol.ts'

/** As often as nodes report. */
const betweenSamplesMs = 1000

/** Why the load cannot be read; null while it can. */
export type State = { trouble: string | null }

export type Effect =
  | { do: 'probe' }
  | { do: 'sample' }
  | { do: 'wait'; delayMs: number }
  | { do: 'say'; event: Event }
  | { do: 'warn'; text: string }

export const init = (): Step<State, Effect> => [
  { trouble: null },
  [{ do: 'probe' }, { do: 'sample' }],
]

export function transition(state: State, message: Message): Step<State, Effect> {
  const wait: Effect = { do: 'wait', delayMs: betweenSamplesMs }
  switch (message.type) {
    case 'probed':
      return [state, [{ do: 'say', event: { type: 'hardware', hardware: message.hardware } }]]
    case 'unprobed':
      throw new Error(message.reason) // every probe fails alone: this is a fault of ours
    case 'sampled':
      return [{ trouble: null }, [{ do: 'say', event: { type: 'load', load: message.load } }, wait]]
    case 'unsampled': {
      const { reason } = message
      if (reason === state.trouble) return [state, [wait]] // told once, not every second
      return [{ trouble: reason }, [{ do: 'warn', text: reason }, wait]]
    }
    case 'due':
      return [state, [{ do: 'sample' }]]
  }
}
