// What the request path needs of the world.
import type { Route, RoutedKey } from '../../../transport/contract/route.ts'
import type { Gate } from '../admission/gate.ts'
import type { TableSnapshot, TryEnd } from '../table/protocol.ts'
import type { Seats } from '../table/seats.ts'
import type { Buffers } from './buffers.ts'

type Headers = readonly (readonly [name: string, value: string])[]

/** One request of a client and its answer. After the client has left, every call does nothing. */
export interface Exchange {
  readonly method: string
  /** Without the query, still percent-encoded. */
  readonly path: string
  /** Only while the handler runs; empty where there is none. */
  header(name: string): string
  onGone(listener: () => void): void
  /** `chunk` is valid only during the call. */
  onBody(listener: (chunk: Uint8Array, last: boolean) => void): void
  /** A `write` that answered false has been sent. */
  onDrain(listener: () => void): void
  send(status: number, headers: Headers, body: string | Uint8Array, close?: boolean): void
  begin(status: number, headers: Headers, chunk: Uint8Array): boolean
  /** False: the client is slower than this; wait for `onDrain`. */
  write(chunk: string | Uint8Array): boolean
  end(): void
}

/** Why a try at an engine came to nothing. */
export type TryFailure =
  /** No connection. */
  | 'unreachable'
  /** The connection ended before the answer was whole. */
  | 'broke-off'
  /** It took the request and never began to answer. */
  | 'silent'
  /** It began to answer and then said nothing more. */
  | 'stalled'

/** What a try tells whoever started it: `onHead` once, then chunks, then one of the ends. */
export interface TryEvents {
  /** The request has gone out. */
  onSent(): void
  onHead(status: number, retryAfter: string | null): void
  /** False: give no more until `resume`. */
  onChunk(chunk: Buffer): boolean
  onEnd(): void
  onFail(why: TryFailure): void
}

/** A try at an engine that is under way. */
export interface Try {
  resume(): void
  /** Closes the connection at once; nothing is told any more. */
  abort(): void
}

export interface Forward {
  start(
    route: Route,
    request: { path: string; body: Uint8Array; accept: string; id: string; trace: string },
    events: TryEvents,
  ): Try
}

/** `model` is null where the request named none that is known; status 499: the client left. */
export type RequestEnd = { id: string; status: number; model: string | null; durationMs: number }

export interface Meter {
  ended(end: RequestEnd): void
  firstByte(model: string, waitedMs: number): void
  tryFailed(model: string, why: string): void
}

export interface PathPorts {
  readonly table: { readonly current: TableSnapshot }
  readonly keys: { readonly current: ReadonlyMap<string, RoutedKey> }
  readonly seats: Seats
  readonly gate: Gate
  readonly buffers: Buffers
  readonly forward: Forward
  readonly meter: Meter
  /** Told to the table's actor in batches. */
  tell(end: TryEnd): void
  /** Whether plain requests to this engine are asked for as streams. */
  alwaysStream(engine: string): boolean
  /** SHA-256 in hex. */
  digest(secret: string): string
  newId(): string
  /** Rises by one with each call. */
  nextTurn(): number
  /** Milliseconds, monotonic. */
  now(): number
  metricsPage(): Promise<{ type: string; text: string }>
  readonly bodyLimitBytes: number
  /** True while this process ends: connections are closed after their answer, so that others take the next request. */
  readonly ending: boolean
}
