// What may be said to the keeper of members, and what it knows of nodes and routers.
import type { z } from 'zod'
import type { Outcome } from '../../../transport/contract/envelope.ts'
import type { Load } from '../../../transport/contract/hardware.ts'
import {
  type Install,
  type NodeFile,
  type Registration,
  type Report,
  registrationSchema,
  type ShardStatus,
} from '../../../transport/contract/node.ts'

/** What is kept of a node in the store, under `node.<name>`. */
export const nodeRecordSchema = registrationSchema.omit({ report: true })
export type NodeRecord = z.infer<typeof nodeRecordSchema>

/** What its last reports tell. */
export type Heard = {
  seq: number
  /** When, on the leader's monotonic clock. */
  at: number
  load: Load
  shards: readonly ShardStatus[]
  files: readonly NodeFile[]
  installs: readonly Install[]
}

/** A node; `heard` is null until it has registered with this leadership. */
export type Member = NodeRecord & { heard: Heard | null }

export type RouterMember = {
  router: string
  boot: string
  pid: number
  holds: Readonly<Record<string, number>>
  revision: number
  at: number
}

/** Everybody at one moment; never changed once told. */
export type Members = {
  nodes: ReadonlyMap<string, Member>
  routers: ReadonlyMap<string, RouterMember>
  /** When this leadership began to listen, on its monotonic clock. */
  since: number
}

export type Registered = { token: number }

export type Command =
  | {
      type: 'register'
      at: number
      /** The token of the subject, which credentials prove. */
      caller: string
      registration: Registration
      replyTo: (outcome: Outcome<Registered>) => void
    }
  | { type: 'report'; at: number; caller: string; report: Report }

export type Fact =
  | { type: 'loaded'; at: number; nodes: readonly NodeRecord[] }
  | { type: 'unloaded'; reason: string }
  /** The store did not say that it has a record. */
  | { type: 'unstored'; reason: string }

export type Message = Command | Fact
