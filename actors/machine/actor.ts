// The supervisor of one machine's programs: each is a process of its own that outlives this actor.
import type { Behaviour, ChildSpec, Ref, Self } from '../../kernel/actor.ts'
import type { Event, Message as ProcessMessage, ProcessSpec } from '../process/protocol.ts'
import type { MachineEvent, Message } from './protocol.ts'
import { type Effect, init, type State, transition } from './state.ts'

export interface Ports {
  /** How the keeper of one program is made; what it says is handed to `tell`. */
  child(
    spec: ProcessSpec,
    tell: (event: Event) => void,
  ): ChildSpec<unknown, ProcessMessage, unknown>
  say(event: MachineEvent): void
}

/** Keeps the programs of one machine running, in order, until it is told to stop them. */
export const machine = (
  ports: Ports,
  programs: readonly ProcessSpec[],
): Behaviour<State, Message, Effect> => {
  const keepers = new Map<string, Ref<ProcessMessage>>()
  const spawn = (spec: ProcessSpec, self: Self<Message>): void => {
    const tell = (event: Event): boolean => self.tell({ type: 'said', program: spec.name, event })
    keepers.set(spec.name, self.spawn(ports.child(spec, tell)))
  }
  return {
    init: () => init(programs),
    transition,
    perform(effect, self) {
      switch (effect.do) {
        case 'spawn':
          return spawn(effect.spec, self)
        case 'start':
          keepers.get(effect.spec.name)?.tell({ type: 'start', spec: effect.spec })
          return
        case 'end':
          keepers.get(effect.spec.name)?.tell({ type: 'stop' })
          return
        case 'replace':
          keepers.get(effect.spec.name)?.tell({ type: 'stop', by: effect.by })
          return
        case 'wait':
          return self.after(effect.delayMs, { type: 'due', program: effect.program })
        case 'say':
          return ports.say(effect.event)
      }
    },
  }
}
