// What may be said to the keeper of the routing table, and what it publishes.
import type { Route, RoutedModel } from '../../../transport/contract/route.ts'

/** What a mirror of the bucket of routes tells; values are not yet checked. */
export type Mirrored =
  | { type: 'listed'; entries: ReadonlyMap<string, { value: unknown }>; revision: number }
  | { type: 'put'; entry: { key: string; value: unknown; revision: number } }
  | { type: 'deleted'; key: string; revision: number }

/**
 * How one try at a replica ended. `answered`: it works; `failed`: it broke off or fell silent; `unreachable`: nobody
 * answers there, or it says itself that it cannot yet; `open`: nothing to be learned, as when the client left.
 */
export type TryEnd = {
  replica: string
  how: 'answered' | 'failed' | 'unreachable' | 'open'
  /** It was given up before its answer began: the engine may go on with it unseen. */
  ghost: boolean
  /** Milliseconds, monotonic. */
  at: number
}

/** What an engine's own counts say of the requests that were given up; times in milliseconds, monotonic. */
export type GhostCheck = {
  replica: string
  /** When the counts were asked for. */
  askedAt: number
  /** Requests that run or wait in the engine; null where it did not tell. */
  busy: number | null
  /** Requests of this router that were surely in the engine from `askedAt` until now. */
  settled: number
  ghosts: readonly Ghost[]
  now: number
}

/** A request that was given up during prefill: load that no connection shows. */
export type Ghost = { readonly at: number; readonly until: number }

export type Message =
  | Mirrored
  | { type: 'ended'; tries: readonly TryEnd[] }
  | { type: 'haunted'; replicas: readonly string[] }
  | { type: 'check-due'; replica: string }
  | { type: 'counted'; replica: string; askedAt: number; busy: number | null }
  | { type: 'checked'; check: GhostCheck }
  | { type: 'report-due' }

/** The table as the request path reads it; never changed, only replaced. */
export type TableSnapshot = {
  /** False until the mirror has told the whole table once. */
  listed: boolean
  revision: number
  models: ReadonlyMap<string, RoutedModel>
  /** Routes that take new requests, by model. */
  ready: ReadonlyMap<string, readonly Route[]>
  /** Replicas that failed lately, with the time until which others are preferred. */
  avoided: ReadonlyMap<string, number>
}

/** Before anything is known. */
export const emptyTable: TableSnapshot = {
  listed: false,
  revision: 0,
  models: new Map(),
  ready: new Map(),
  avoided: new Map(),
}
