// The keeper of keys: publishes them for the request path.
import type { Behaviour } from '../../../kernel/actor.ts'
import type { KeysSnapshot, Message } from './protocol.ts'
import { type Effect, init, type State, transition } from './state.ts'

export interface AdmissionPorts {
  publish(keys: KeysSnapshot): void
  warn(key: string, problem: string): void
}

export const admission = (ports: AdmissionPorts): Behaviour<State, Message, Effect> => ({
  init,
  transition,
  perform(effect) {
    switch (effect.do) {
      case 'publish':
        return ports.publish(effect.keys)
      case 'warn':
        return ports.warn(effect.key, effect.problem)
    }
  },
})
