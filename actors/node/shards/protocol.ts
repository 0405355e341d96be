// What may be said to the keeper of a node's shards, and what it says.
import type { End } from '../../../kernel/actor.ts'
import type { ShardStatus } from '../../../transport/contract/node.ts'
import type { ShardSpec } from '../../shard/protocol.ts'

export type Command =
  /** Starts a shard, or hands the wish to the one that is there. */
  | { type: 'start'; spec: ShardSpec }
  | { type: 'stop'; replica: string }
  /** Ends all shards and takes no new ones; answered once all have ended. */
  | { type: 'stop-all'; replyTo: () => void }

/** Told by this actor's own effects and its shards. */
export type Fact =
  | { type: 'scanned'; specs: readonly ShardSpec[] }
  | { type: 'changed'; replica: string; status: ShardStatus }
  | { type: 'gone'; replica: string; end: End }

export type Message = Command | Fact

/** To its owner: all shards, once the run folders were read and whenever one changes. */
export type Event = { type: 'shards'; shards: readonly ShardStatus[] }
