// Placement: what it needs of the world, and how its effects are performed.
import type { Behaviour, Self } from '../../../kernel/actor.ts'
import { messageOf } from '../../../kernel/errors.ts'
import type { Outcome } from '../../../transport/contract/envelope.ts'
import type { Route, RoutedModel } from '../../../transport/contract/route.ts'
import type { Leader, Learnt, Message, Order, ReplicaRecord, Write } from './protocol.ts'
import { type Effect, init, type State, transition } from './state.ts'

export interface Ports {
  /** From now on requests of administration are told to `self`; the returned function ends that. */
  listen(self: Self<Message>): () => void
  load(): Promise<{
    records: ReplicaRecord[]
    routes: { key: string; value: Route | RoutedModel; revision: number }[]
  }>
  /** Stores all in order; resolves with their revisions, rejects at the first that failed. */
  write(writes: readonly Write[]): Promise<number[]>
  /** Sends a command; what it did shows in reports, so the answer is only logged. */
  command(order: Order): void
  /** The end of a shard's log from its node. */
  logs(
    at: { node: string; boot: string; replica: string },
    lines: number,
  ): Promise<Outcome<{ lines: string[] }>>
  /** Fresh random ids for new replicas. */
  ids(): readonly string[]
}

/** Tells `onLearnt` what headers it finds in nodes' reports. */
export function placement(
  leader: Leader,
  ports: Ports,
  onLearnt: (learnt: Learnt) => void,
): Behaviour<State, Message, Effect> {
  let silence = () => {}
  return {
    init: () => init(leader),
    transition,
    perform(effect, self) {
      switch (effect.do) {
        case 'load':
          silence = ports.listen(self)
          return void ports.load().then(
            (all) => self.tell({ type: 'loaded', at: self.now(), ...all }),
            (error) => self.tell({ type: 'unloaded', reason: messageOf(error) }),
          )
        case 'wait':
          return self.after(effect.delayMs, { type: 'wake', attempt: effect.attempt })
        case 'draw': {
          const { attempt } = effect
          return void self.tell({ type: 'due', attempt, at: self.now(), ids: ports.ids() })
        }
        case 'write': {
          const { writes } = effect
          return void ports.write(writes).then(
            (revisions) => self.tell({ type: 'stored', at: self.now(), writes, revisions }),
            (error) => self.tell({ type: 'unstored', reason: messageOf(error) }),
          )
        }
        case 'command':
          return ports.command(effect.order)
        case 'learn':
          return onLearnt(effect.learnt)
        case 'logs': {
          const { node, boot, request, replyTo } = effect
          const { replica, lines } = request
          return void ports.logs({ node, boot, replica }, lines).then(replyTo)
        }
        case 'answer':
          return effect.replyTo({ ok: true, value: effect.value as never })
        case 'refuse':
          return effect.replyTo({ ok: false, error: effect.failure })
      }
    },
    async stopped() {
      silence()
    },
  }
}
