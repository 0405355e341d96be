// What may be said to a node's agent.
import type { Failure } from '../../kernel/errors.ts'
import type { Outcome } from '../../transport/contract/envelope.ts'
import type { Hardware, Load } from '../../transport/contract/hardware.ts'
import type {
  Install,
  Command as NodeCommand,
  NodeFile,
  ShardStatus,
} from '../../transport/contract/node.ts'

/** What the agent is called, and where. */
export type Identity = {
  node: string
  /** Of this run of the agent. */
  boot: string
  pid: number
  version: string
  /** Where routers reach its engines. */
  address: string
}

type Taken = { taken: true }

/** From the leader, over the bridge. */
export type Command =
  | { type: 'command'; command: NodeCommand; replyTo: (outcome: Outcome<Taken>) => void }
  | {
      type: 'logs'
      replica: string
      lines: number
      replyTo: (outcome: Outcome<{ lines: string[] }>) => void
    }

/** From its own parts. */
export type Part =
  | { type: 'hardware'; hardware: Hardware }
  | { type: 'load'; load: Load }
  | { type: 'shards'; shards: readonly ShardStatus[] }
  | { type: 'files'; files: readonly NodeFile[] }
  | { type: 'installs'; installs: readonly Install[] }

/** Told by this actor's own effects. */
export type Fact =
  | { type: 'recalled'; token: number }
  | { type: 'online' }
  | { type: 'offline' }
  | { type: 'settled' }
  | { type: 'due'; attempt: number }
  | { type: 'registered'; attempt: number; token: number }
  | { type: 'unregistered'; attempt: number; failure: Failure }
  | { type: 'tick' }

export type Message = Command | Part | Fact
