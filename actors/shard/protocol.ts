// What may be said to the keeper of one replica's part on this node, and what it says.
import { z } from 'zod'
import type { Failure } from '../../kernel/errors.ts'
import { commandSchema, type ShardStatus } from '../../transport/contract/node.ts'
import type { FetchEvent } from '../node/files/protocol.ts'
import type { ProvisionEvent } from '../node/provision/protocol.ts'
import type { Event as ProcessEvent, User } from '../process/protocol.ts'

/** What the leader wants to run: its start command without the order's own fields. */
const shardSpecSchema = commandSchema.options[0].omit({ type: true, token: true })
export type ShardSpec = z.infer<typeof shardSpecSchema>

/** What a shard keeps in its run folder from before each launch, to be known after the agent's death; holds the engine's key. */
export const savedSchema = z.object({
  version: z.literal(1),
  spec: shardSpecSchema,
  port: z.number().int().min(1).max(65535),
  engineVersion: z.string().max(100),
  fileBytes: z.number().nonnegative(),
})
export type Saved = z.infer<typeof savedSchema>

/** Anyone sends commands; each is safe to receive twice. */
export type Command =
  /** Another definition than the present one replaces it, its engine being ended first; a failed shard is tried anew. */
  | { type: 'start'; spec: ShardSpec }
  /** Ends the engine, removes the run folder, and then ends this actor. */
  | { type: 'stop' }

/** Where an engine is to live on this machine, and as whom; without a user, as the agent's. */
export type Place = { port: number; homeDir: string; path: string; user?: User }

/** Told by this actor's own effects; `attempt` says which try to run the engine it is about. */
export type Fact =
  | { type: 'recalled'; saved: Saved | null }
  | { type: 'process'; event: ProcessEvent }
  | { type: 'engine'; attempt: number; at: number; event: ProvisionEvent }
  | { type: 'file'; attempt: number; at: number; event: FetchEvent }
  | { type: 'reserved'; attempt: number; place: Place }
  | { type: 'setback'; attempt: number; at: number; failure: Failure }
  | { type: 'due'; attempt: number }
  | { type: 'late'; attempt: number }
  | { type: 'probed'; attempt: number; readiness: Readiness }
  | { type: 'measured'; attempt: number; at: number; measure: Measure }
  /** Whether one token was made in time. */
  | { type: 'tried'; attempt: number; at: number; token: boolean }
  | { type: 'examined'; attempt: number; at: number; lines: readonly string[]; portTaken: boolean }
  | { type: 'wiped' }

/** What an engine's answers mean, by its description. */
export type Readiness = 'starting' | 'loading' | 'ready' | 'stranger'

/** One look at a ready engine: whether it answered at all, its own counts, and what it computes on; null is unknown. */
export type Measure = {
  answered: boolean
  running: number | null
  waiting: number | null
  /** By its description: another number after each step that it computes. */
  progress: number | null
  compute: 'cpu' | 'gpu' | null
}

export type Message = Command | Fact

/** To its owner, whenever something of it changed. */
export type Event = { type: 'changed'; status: ShardStatus }

/** The status of a shard that has told nothing yet; `host` is where routers reach its engine. */
export const untold = ({ replica, model }: ShardSpec, host: string): ShardStatus => ({
  replica,
  model,
  phase: 'looking',
  pid: null,
  host,
  port: null,
  reason: null,
  progress: null,
  compute: null,
  engineVersion: null,
  running: null,
  waiting: null,
  restarts: 0,
})
