// What may be said to placement, and what it keeps of a replica.
import { z } from 'zod'
import type { AdminAnswer, AdminRequest, AdminVerb } from '../../../transport/contract/admin.ts'
import type { Outcome } from '../../../transport/contract/envelope.ts'
import type { Header } from '../../../transport/contract/model.ts'
import { modelNameSchema, tokenSchema } from '../../../transport/contract/names.ts'
import type { Command as NodeCommand } from '../../../transport/contract/node.ts'
import type { Route, RoutedModel } from '../../../transport/contract/route.ts'
import type { Models } from '../catalog/protocol.ts'
import type { Members } from '../members/protocol.ts'

/** What is kept of a replica in the store, under `replica.<id>`, from before its start to after its end. */
export const replicaRecordSchema = z.object({
  replica: tokenSchema,
  model: modelNameSchema,
  /** `createdAt` of the model: an earlier one of the same name was another model. */
  generation: z.number().int().nonnegative(),
  node: tokenSchema,
  engine: z.string().max(40),
  profile: z.object({
    contextTokens: z.number().int().positive(),
    slots: z.number().int().positive(),
    cores: z.number().int().positive(),
    memoryBytes: z.number().int().positive(),
  }),
  state: z.enum(['placed', 'draining']),
  /** Why it is there, or why it goes, in words. */
  why: z.string().max(2000),
})
export type ReplicaRecord = z.infer<typeof replicaRecordSchema>

/** An entry of the routers' bucket that placement answers for. */
export type Routed = {
  value: Route | RoutedModel
  revision: number
  /** When it was written or read, on the leader's monotonic clock. */
  at: number
}

/** A change of the store; no value means that the entry goes. */
export type Write =
  | { bucket: 'state'; replica: string; value: ReplicaRecord | null }
  | { bucket: 'route'; key: string; value: Route | RoutedModel | null }

/** A command to a node, without the token and the engine's key, which are added when it is sent. */
export type Order = { node: string; boot: string } & (
  | Omit<Extract<NodeCommand, { type: 'start' }>, 'token' | 'key'>
  | Omit<Extract<NodeCommand, { type: 'stop' }>, 'token'>
  | (Omit<Extract<NodeCommand, { type: 'fetch' }>, 'token'> & { model: string })
)

/** What was learnt from a file's header. */
export type Learnt = { model: string; header: Header }

/** The verbs that only look. */
export type LookVerb = Extract<
  AdminVerb,
  'status' | 'nodes-list' | 'models-list' | 'models-show' | 'replicas-list' | 'why'
>
export type Look = {
  [V in LookVerb]: {
    type: 'look'
    verb: V
    /** On the leader's monotonic clock. */
    at: number
    request: AdminRequest<V>
    replyTo: (outcome: Outcome<AdminAnswer<V>>) => void
  }
}[LookVerb]

export type Command =
  | { type: 'models'; models: Models }
  | { type: 'members'; members: Members }
  | Look
  | {
      type: 'logs'
      request: AdminRequest<'logs-read'>
      replyTo: (outcome: Outcome<AdminAnswer<'logs-read'>>) => void
    }

/** The leadership, as `status` shows it. */
export type Leader = { name: string; pid: number; token: number }

export type Fact =
  | {
      type: 'loaded'
      at: number
      records: readonly ReplicaRecord[]
      routes: readonly { key: string; value: Route | RoutedModel; revision: number }[]
    }
  | { type: 'unloaded'; reason: string }
  | { type: 'wake'; attempt: number }
  /** Time to decide; `ids` are fresh and random. */
  | { type: 'due'; attempt: number; at: number; ids: readonly string[] }
  /** All writes of a decision are stored, with their revisions in order. */
  | { type: 'stored'; at: number; writes: readonly Write[]; revisions: readonly number[] }
  | { type: 'unstored'; reason: string }

export type Message = Command | Fact
