// The watcher of a node's hardware: what it needs of the world, and how its effects are performed.
import type { Behaviour } from '../../../kernel/actor.ts'
import { messageOf } from '../../../kernel/errors.ts'
import type { Hardware, Load } from '../../../transport/contract/hardware.ts'
import type { Event, Message } from './protocol.ts'
import { type Effect, init, type State, transition } from './state.ts'

export interface Ports {
  /** What the machine is. What cannot be read is null and costs a warning in the answer, nothing else. */
  probe(): Promise<Hardware>
  /** What is free now. Throws where memory or disk cannot be read. */
  sample(): Promise<Load>
  warn(text: string): void
}

export const hardwareWatcher = (
  ports: Ports,
  tellOwner: (event: Event) => void,
): Behaviour<State, Message, Effect> => ({
  init,
  transition,
  perform(effect, self) {
    switch (effect.do) {
      case 'say':
        return tellOwner(effect.event)
      case 'warn':
        return ports.warn(effect.text)
      case 'wait':
        return self.after(effect.delayMs, { type: 'due' })
      case 'probe':
        return void ports.probe().then(
          (hardware) => self.tell({ type: 'probed', hardware }),
          (error) => self.tell({ type: 'unprobed', reason: messageOf(error) }),
        )
      case 'sample':
        return void ports.sample().then(
          (load) => self.tell({ type: 'sampled', load }),
          (error) => self.tell({ type: 'unsampled', reason: messageOf(error) }),
        )
    }
  },
})
