// The keeper of members: what it needs of the world, and how its effects are performed.
import type { Behaviour, Self } from '../../../kernel/actor.ts'
import { messageOf, toFailure } from '../../../kernel/errors.ts'
import type { Members, Message, NodeRecord } from './protocol.ts'
import { type Effect, init, type State, transition } from './state.ts'

export interface Ports {
  /** The leadership's, which nodes are told. */
  readonly token: number
  /** From now on registrations and reports are told to `self`; the returned function ends that. */
  listen(self: Self<Message>): () => void
  load(): Promise<NodeRecord[]>
  store(record: NodeRecord): Promise<void>
  /** Asks a node to register; lost without harm. */
  ask(node: string, boot: string): void
}

/** Tells `onChange` everybody whenever something was heard. */
export function members(
  ports: Ports,
  onChange: (members: Members) => void,
): Behaviour<State, Message, Effect> {
  let silence = () => {}
  return {
    init,
    transition,
    perform(effect, self) {
      switch (effect.do) {
        case 'load':
          silence = ports.listen(self)
          return void ports.load().then(
            (nodes) => self.tell({ type: 'loaded', at: self.now(), nodes }),
            (error) => self.tell({ type: 'unloaded', reason: messageOf(error) }),
          )
        case 'store': {
          const { record, replyTo } = effect
          return void ports.store(record).then(
            () => replyTo({ ok: true, value: { token: ports.token } }),
            (error) => {
              const key = `node.${record.node}`
              replyTo({ ok: false, error: toFailure(error, 'LLMGW_STORE_FAILED', { key }) })
              self.tell({ type: 'unstored', reason: messageOf(error) })
            },
          )
        }
        case 'welcome':
          return effect.replyTo({ ok: true, value: { token: ports.token } })
        case 'refuse':
          return effect.replyTo({ ok: false, error: effect.failure })
        case 'ask':
          return ports.ask(effect.node, effect.boot)
        case 'tell':
          return onChange(effect.members)
      }
    },
    async stopped() {
      silence()
    },
  }
}
