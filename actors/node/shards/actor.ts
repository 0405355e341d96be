// The keeper of a node's shards: actors that come and go, one per replica.
import type { Behaviour, ChildSpec, Ref } from '../../../kernel/actor.ts'
import type {
  Event as ShardEvent,
  Message as ShardMessage,
  ShardSpec,
} from '../../shard/protocol.ts'
import type { Event, Message } from './protocol.ts'
import { type Effect, init, type State, transition } from './state.ts'

export interface Ports {
  /** Where routers reach the engines. */
  readonly host: string
  /** What the run folders hold. */
  scan(): ShardSpec[]
  /** How a shard is made; it is temporary, since a broken one is brought back by the next wish. */
  child(
    spec: ShardSpec,
    tell: (event: ShardEvent) => void,
  ): ChildSpec<unknown, ShardMessage, unknown>
}

export const shardsKeeper = (
  ports: Ports,
  tellOwner: (event: Event) => void,
): Behaviour<State, Message, Effect> => {
  const shards = new Map<string, Ref<ShardMessage>>()
  return {
    init: () => init(ports.host),
    transition,
    perform(effect, self) {
      switch (effect.do) {
        case 'say':
          return tellOwner(effect.event)
        case 'answer':
          return effect.replyTo()
        case 'scan':
          self.tell({ type: 'scanned', specs: ports.scan() })
          return
        case 'spawn': {
          const { replica } = effect.spec
          const tell = ({ status }: ShardEvent): void => {
            self.tell({ type: 'changed', replica, status })
          }
          const ref = self.spawn(ports.child(effect.spec, tell))
          shards.set(replica, ref)
          return self.watch(ref, (end) => ({ type: 'gone', replica, end }))
        }
        case 'tell':
          shards.get(effect.replica)?.tell(effect.message)
          return
      }
    },
  }
}
