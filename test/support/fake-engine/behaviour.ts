// What the fake engine does with a request, as data; the defaults are a well-behaved llama.cpp.

export type Behaviour = {
  /** Every path answers 503 "Loading model", as llama.cpp does until its model is there. */
  loading: boolean
  /** The key that requests must carry; null: none. */
  key: string | null
  alias: string
  /** Requests that it works on at once; further ones wait. */
  slots: number
  /** Length of the prefill, in which a client's leaving is not noticed. */
  prefillMs: number
  /** The texts of the answer's deltas. */
  deltas: readonly string[]
  /** Time before each delta but the first. */
  paceMs: number
  /** Sent in place of the chunks that `deltas` make: whole `data:` payloads in order, without the closing mark. */
  events: readonly (string | object)[] | null
  lineEnd: '\n' | '\r\n' | '\r'
  /** Each write is cut into pieces of so many bytes, sent one by one; 0: not cut. */
  pieceBytes: number
  /** Comments sent while it is in prefill, one a `pingMs`. */
  pingMs: number | null
  /** Sends an event without `choices` first, as some engines do. */
  oddEvent: boolean
  /** Leaves out the usage chunk even where it is asked for. */
  withoutUsage: boolean
  /** Leaves out the last blank line. */
  withoutLastBlank: boolean
  fault: Fault | null
}

/** What goes wrong. `after` counts deltas that are sent before it. */
export type Fault =
  | { kind: 'reset-before-headers' }
  | { kind: 'silent' }
  | { kind: 'reset'; after: number }
  /** Ends the connection regularly, as if that were all. */
  | { kind: 'close'; after: number }
  | { kind: 'stall'; after: number }
  | { kind: 'error-event'; after: number }
  | { kind: 'status'; status: number; body: string; headers?: Record<string, string> }

export const wellBehaved: Behaviour = {
  loading: false,
  key: null,
  alias: 'fake',
  slots: 4,
  prefillMs: 0,
  deltas: ['Hello', ', ', 'world', '!'],
  paceMs: 0,
  events: null,
  lineEnd: '\n',
  pieceBytes: 0,
  pingMs: null,
  oddEvent: false,
  withoutUsage: false,
  withoutLastBlank: false,
  fault: null,
}

/** A request as the engine saw it. */
export type Seen = {
  method: string
  path: string
  headers: Record<string, string>
  body: string
  /** Milliseconds, monotonic, as of `performance.now()`. */
  at: number
  /** When its client left before the answer was whole; null: it did not. */
  leftAt: number | null
  /** When the engine was through with it, noticed or not; null: it is not. */
  doneAt: number | null
}
