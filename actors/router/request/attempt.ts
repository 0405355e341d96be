// One try of a chat request at one replica: what the engine sends becomes a stream, an answer, a refusal or a failure.
import type { Route } from '../../../transport/contract/route.ts'
import { type Answer, engineErrorAnswer, parseJson } from '../surface/answer.ts'
import { createJoin, type Join } from '../surface/join.ts'
import { createOpening, type Opening } from '../surface/opening.ts'
import { askForStream } from '../surface/patch.ts'
import { ghostMs } from '../table/ghosts.ts'
import type { TryEnd } from '../table/protocol.ts'
import type { Sitting } from '../table/seats.ts'
import type { PathPorts, Try, TryEvents, TryFailure } from './ports.ts'
import { Tail } from './tail.ts'

/** How a try ended, told once. */
export type Outcome =
  | { how: 'streamed' }
  | { how: 'whole'; answer: Answer }
  /** The engine said no; `elsewhere`: another replica might say yes. */
  | { how: 'refused'; answer: Answer; elsewhere: boolean }
  /** `waitedMs`: since it had the request. */
  | { how: 'failed'; why: TryFailure | 'unreadable' | 'no-room'; waitedMs: number }

export type AttemptRequest = {
  id: string
  trace: string
  body: Uint8Array
  /** Whether the client wants a stream, and whether its body says so in any way. */
  stream: boolean
  choices: number
  saysHow: boolean
}

/** Whoever started the try. */
export interface AttemptOwner {
  firstByte(): void
  /** Bytes for the client; false: no more until `resume`. */
  pass(chunk: Uint8Array): boolean
  /** Counts bytes that are kept until the answer is whole; false where there is no room. */
  keep(bytes: number): boolean
  ended(outcome: Outcome): void
}

/** Of an engine's error so much is read. */
const errorLimitBytes = 64 * 1024

/**
 * What becomes of the bytes: `stream` passes them on, `join` puts a plain answer together from a stream, `whole`
 * keeps a plain answer until it is whole, `error` keeps the engine's refusal.
 */
type Mode = 'stream' | 'join' | 'whole' | 'error'

export class Attempt implements TryEvents {
  readonly route: Route
  readonly #ports: PathPorts
  readonly #request: AttemptRequest
  readonly #owner: AttemptOwner
  readonly #sitting: Sitting = { sentAt: null, answeringAt: null }
  readonly #join: Join | null
  readonly #kept: Uint8Array[] = []
  readonly #tail = new Tail()
  /** Until the first event has been passed on. */
  #opening: Opening | null
  #try: Try | null = null
  #mode: Mode = 'error'
  #status = 0
  #retryAfter: string | null = null
  #started = false
  #over = false

  constructor(ports: PathPorts, route: Route, request: AttemptRequest, owner: AttemptOwner) {
    this.#ports = ports
    this.route = route
    this.#request = request
    this.#owner = owner
    this.#opening = request.stream ? createOpening(request.choices) : null
    this.#join = !request.stream && ports.alwaysStream(route.engine) ? createJoin() : null
  }

  start(): void {
    const { id, trace, body, stream, saysHow } = this.#request
    this.#ports.seats.at(this.route.replica).sittings.add(this.#sitting)
    const request = {
      path: '/v1/chat/completions',
      body: this.#join ? askForStream(body, saysHow) : body,
      accept: stream || this.#join ? 'text/event-stream' : 'application/json',
      id,
      trace,
    }
    this.#try = this.#ports.forward.start(this.route, request, this)
  }

  /** Whether more than comments has come. */
  get isAnswering(): boolean {
    return this.#sitting.answeringAt !== null
  }

  resume(): void {
    this.#try?.resume()
  }

  /** Gives it up at once, on nobody's account; the owner is told nothing. */
  abort(): void {
    if (this.#over) return
    this.#leave('open')
    this.#try?.abort()
  }

  onSent(): void {
    this.#sitting.sentAt = this.#ports.now()
  }

  onHead(status: number, retryAfter: string | null): void {
    this.#status = status
    this.#retryAfter = retryAfter
    if (status < 200 || status > 299) {
      this.#mode = 'error'
      this.#answering()
    } else if (this.#join) this.#mode = 'join'
    else this.#mode = this.#request.stream ? 'stream' : 'whole'
  }

  onChunk(chunk: Buffer): boolean {
    if (!this.#started) {
      this.#started = true
      this.#owner.firstByte()
    }
    // a comment that keeps a stream alive may come during prefill
    if (!this.isAnswering && (this.#mode === 'whole' || !isComment(chunk))) this.#answering()
    if (this.#mode === 'stream') return this.#pass(chunk)
    this.#take(chunk)
    return true
  }

  #pass(chunk: Uint8Array): boolean {
    // comments before the first event keep the client waiting in peace
    const bytes = this.#opening === null || !this.isAnswering ? chunk : this.#opening.push(chunk)
    if (bytes === null) return true
    if (this.isAnswering) this.#opening = null
    this.#tail.push(bytes)
    return this.#owner.pass(bytes)
  }

  onEnd(): void {
    if (this.#mode === 'join') this.#joined()
    else if (this.#mode === 'error') this.#refused()
    else if (this.#mode === 'whole') {
      const answer = { status: this.#status, headers: [json], body: Buffer.concat(this.#kept) }
      this.#end('answered', { how: 'whole', answer })
    } else if (this.#tail.isDone) this.#end('answered', { how: 'streamed' })
    else this.#fail('broke-off', 'failed')
  }

  onFail(why: TryFailure): void {
    // whole but for the regular end of its connection
    if (this.#mode === 'stream' && this.#tail.isDone) this.#end('answered', { how: 'streamed' })
    else this.#fail(why, why === 'unreachable' ? 'unreachable' : 'failed')
  }

  #answering(): void {
    this.#sitting.answeringAt = this.#ports.now()
  }

  #take(chunk: Buffer): void {
    if (this.#mode === 'error' && this.#keptBytes() >= errorLimitBytes) return
    if (!this.#owner.keep(chunk.length)) {
      this.#try?.abort()
      this.#fail('no-room', 'open')
    } else if (this.#mode === 'join') this.#join?.feed(chunk)
    else this.#kept.push(chunk)
  }

  #joined(): void {
    const joined = this.#join?.finish()
    if (joined?.ok) {
      const answer = { status: 200, headers: [json], body: joined.body }
      this.#end('answered', { how: 'whole', answer })
    } else if (joined?.why === 'error') {
      const answer = engineErrorAnswer(statusIn(joined.value), joined.value, null)
      this.#end('open', { how: 'refused', answer, elsewhere: false })
    } else this.#fail(joined?.why === 'unreadable' ? 'unreadable' : 'broke-off', 'failed')
  }

  #refused(): void {
    const status = this.#status
    // 401: our key is not that engine's, so it is another process on that port; 3xx: no engine of ours
    if (status < 400 || status === 401) {
      this.#fail('unreachable', 'unreachable')
      return
    }
    const answer = engineErrorAnswer(status, parseJson(Buffer.concat(this.#kept)), this.#retryAfter)
    // a 500 may be the request's own fault, so it says nothing of the replica; 503 is what a loading engine says
    const how = status === 503 ? 'unreachable' : status < 500 ? 'answered' : 'open'
    this.#end(how, { how: 'refused', answer, elsewhere: status >= 500 || status === 429 })
  }

  #fail(why: Extract<Outcome, { how: 'failed' }>['why'], how: TryEnd['how']): void {
    const waitedMs = this.#ports.now() - (this.#sitting.sentAt ?? this.#ports.now())
    this.#end(how, { how: 'failed', why, waitedMs })
  }

  #end(how: TryEnd['how'], outcome: Outcome): void {
    if (this.#over) return
    const gaveUp = outcome.how === 'failed' && outcome.why === 'silent'
    this.#leave(how, gaveUp)
    this.#owner.ended(outcome)
  }

  /** Leaves the seat; a prefill that goes on unseen stays on it as a ghost. */
  #leave(how: TryEnd['how'], gaveUp = how === 'open'): void {
    this.#over = true
    const { seats, now, tell } = this.#ports
    const at = now()
    const seat = seats.at(this.route.replica)
    seat.sittings.delete(this.#sitting)
    const ghost = gaveUp && this.#sitting.sentAt !== null && this.#sitting.answeringAt === null
    if (ghost) seat.ghosts.push({ at, until: at + ghostMs(this.#request.body.length) })
    tell({ replica: this.route.replica, how, ghost, at })
  }

  #keptBytes(): number {
    return this.#kept.reduce((sum, it) => sum + it.length, 0)
  }
}

/** Sure only where it is one; what comes in pieces is taken for content. */
const isComment = (chunk: Buffer): boolean =>
  chunk[0] === colon && chunk.at(-1) === lineFeed && !chunk.includes('data:')

const colon = 0x3a
const lineFeed = 0x0a

const json = ['content-type', 'application/json'] as const

/** llama.cpp tells the status that it would have sent as the error's code. */
function statusIn(event: unknown): number {
  const code = (event as { error?: { code?: unknown } }).error?.code
  return typeof code === 'number' && code >= 400 && code <= 599 ? code : 502
}
