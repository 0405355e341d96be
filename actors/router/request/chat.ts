// The path of one chat request: body, admission, replicas until one answers, its answer to the client.
// Longer than most: one class, so that all that a request holds is given back in one place.
import { type Code, type Failure, failure } from '../../../kernel/errors.ts'
import type { RoutedKey } from '../../../transport/contract/route.ts'
import type { Admitted, Hold } from '../admission/gate.ts'
import { type Answer, errorAnswer, errorFrame } from '../surface/answer.ts'
import { type Chat, readChat } from '../surface/chat.ts'
import { pick } from '../table/pick.ts'
import { Attempt, type AttemptOwner, type Outcome } from './attempt.ts'
import { type BodyEnd, collectBody, type Upload } from './body.ts'
import type { Exchange, PathPorts } from './ports.ts'

/** Replicas that one request is sent to at most. */
const mostTries = 3
/** Of a name that nobody has, so much is repeated: it may be as long as a body. */
const shownNameLength = 200
/** What the log and the metrics call a request whose client left; never sent. */
const clientLeft = 499

/** Of a stream without bytes, before its client hears a comment: some clients give up after 20 s. */
const pingMs = 10_000
const ping = new TextEncoder().encode(': ping\n')
const lineFeed = 0x0a

/** W3C's, as it is; other values are not passed on. */
const traceparent = /^[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}$/

const streamHeaders = [
  ['content-type', 'text/event-stream'],
  ['cache-control', 'no-cache'],
  ['x-accel-buffering', 'no'],
] as const

type Failed = Extract<Outcome, { how: 'failed' }>

const codes: Readonly<Record<Failed['why'], Code>> = {
  unreachable: 'LLMGW_ENGINE_UNREACHABLE',
  'broke-off': 'LLMGW_ENGINE_BROKE_OFF',
  silent: 'LLMGW_ENGINE_TIMEOUT',
  stalled: 'LLMGW_ENGINE_TIMEOUT',
  unreadable: 'LLMGW_ENGINE_UNSUITABLE',
  'no-room': 'LLMGW_BUFFERS_FULL',
}

export type ChatStart = { id: string; key: RoutedKey; startedAt: number }

/** Ends exactly once, whatever happens, and gives back all that it holds. */
export class ChatRun implements AttemptOwner {
  readonly #ports: PathPorts
  readonly #exchange: Exchange
  readonly #start: ChatStart
  readonly #trace: string
  readonly #onOver: (run: ChatRun) => void
  #upload: Upload | null = null
  #body: Uint8Array = new Uint8Array()
  #heldBytes = 0
  #chat: Chat | null = null
  #hold: Hold | null = null
  #attempt: Attempt | null = null
  readonly #tried: string[] = []
  /** The client has the status of a stream, and bytes, were it comments only. */
  #begun = false
  #quietMs = 0
  /** The client takes what is written. */
  #takes = true
  /** What the client has ends with a whole line, so that another may follow. */
  #atLineStart = true
  #over = false

  constructor(
    ports: PathPorts,
    exchange: Exchange,
    start: ChatStart,
    onOver: (run: ChatRun) => void,
  ) {
    this.#ports = ports
    this.#exchange = exchange
    this.#start = start
    const trace = exchange.header('traceparent')
    this.#trace = traceparent.test(trace) ? trace : ''
    this.#onOver = onOver
  }

  /** Called while the exchange's handler runs. */
  start(): void {
    const { bodyLimitBytes, buffers } = this.#ports
    this.#exchange.onGone(() => this.#finish(clientLeft))
    this.#exchange.onDrain(() => {
      this.#takes = true
      this.#attempt?.resume()
    })
    this.#upload = collectBody(this.#exchange, bodyLimitBytes, buffers, (it) => this.#received(it))
  }

  /** Called every now and then: the client of a stream is told that it is waited for. */
  tend(elapsedMs: number): void {
    if (!this.#chat?.stream || this.#attempt === null) return
    this.#quietMs += elapsedMs
    if (this.#quietMs >= pingMs && this.#takes && this.#atLineStart) this.#send(ping)
  }

  /** This process ends, and the request with it; the client is told to try again. */
  breakOff(): void {
    this.#refuse(failure('LLMGW_SHUTTING_DOWN'))
  }

  #received(end: BodyEnd): void {
    if (!end.ok) {
      const { bodyLimitBytes: limitBytes } = this.#ports
      // its connection is kept: closed now, it would be reset by what the client still sends, the refusal unread
      this.#refuse(failure(end.code, { limitBytes }))
      return
    }
    this.#upload = null
    this.#body = end.body
    this.#heldBytes = end.heldBytes
    const read = readChat(end.body)
    if (!read.ok) {
      this.#refuse(read.error, read.param)
      return
    }
    const { model } = read.chat
    if (!this.#ports.table.current.models.has(model)) {
      const shown = model.slice(0, shownNameLength)
      this.#refuse(failure('LLMGW_MODEL_NOT_FOUND', { model: shown }), 'model')
      return
    }
    this.#chat = read.chat
    const admitted = this.#ports.gate.admit(this.#start.key, model, {
      promptBytes: end.body.length,
    })
    if (admitted instanceof Promise) void admitted.then((it) => this.#admitted(it))
    else this.#admitted(admitted)
  }

  #admitted(admitted: Admitted): void {
    if (!admitted.ok) this.#refuse(admitted.error)
    else if (this.#over)
      admitted.hold.end() // the client left while its limit was asked for
    else {
      this.#hold = admitted.hold
      this.#tryNext(null)
    }
  }

  /** Sends it to a replica; where none is left, answers with what the last one said or met. */
  #tryNext(last: Answer | null, mayRepeat = false): void {
    const chat = this.#chat as Chat
    const route = this.#tried.length < mostTries ? this.#pick(chat.model, mayRepeat) : null
    if (route === null) {
      this.#answer(last ?? errorAnswer(failure('LLMGW_NO_REPLICA', { model: chat.model })))
      return
    }
    this.#tried.push(route.replica)
    const request = { ...chat, id: this.#start.id, trace: this.#trace, body: this.#body }
    this.#attempt = new Attempt(this.#ports, route, request, this)
    this.#attempt.start()
  }

  #pick(model: string, mayRepeat: boolean) {
    const { table, seats, now, nextTurn } = this.#ports
    const { ready, avoided } = table.current
    const from = {
      routes: ready.get(model) ?? [],
      load: (replica: string) => seats.load(replica),
      avoided,
      now: now(),
      turn: nextTurn(),
    }
    return (
      pick({ ...from, tried: this.#tried }) ?? (mayRepeat ? pick({ ...from, tried: [] }) : null)
    )
  }

  // ── what the replica answers ──

  firstByte(): void {
    const waitedMs = this.#ports.now() - this.#start.startedAt
    this.#ports.meter.firstByte(this.#chat?.model ?? '', waitedMs)
  }

  pass(chunk: Uint8Array): boolean {
    this.#atLineStart = chunk[chunk.length - 1] === lineFeed
    return this.#send(chunk)
  }

  #send(chunk: Uint8Array): boolean {
    this.#quietMs = 0
    if (this.#begun) this.#takes = this.#exchange.write(chunk)
    else {
      this.#begun = true
      const close = this.#ports.ending ? [['connection', 'close'] as const] : []
      const headers = [...streamHeaders, this.#idHeader, ...close]
      this.#takes = this.#exchange.begin(200, headers, chunk)
    }
    return this.#takes
  }

  keep(bytes: number): boolean {
    if (!this.#ports.buffers.take(bytes)) return false
    this.#heldBytes += bytes
    return true
  }

  ended(outcome: Outcome): void {
    if (outcome.how === 'streamed') {
      this.#exchange.end()
      this.#finish(200)
    } else if (outcome.how === 'failed') this.#failed(outcome)
    else if (outcome.how === 'refused' && outcome.elsewhere) {
      this.#ports.meter.tryFailed(this.#chat?.model ?? '', 'refused')
      this.#tryNext(outcome.answer)
    } else this.#answer(outcome.answer)
  }

  #failed({ why, waitedMs }: Failed): void {
    const model = this.#chat?.model ?? ''
    this.#ports.meter.tryFailed(model, why)
    const details = { model, seconds: Math.round(waitedMs / 1000), problem: 'no JSON' }
    const error = failure(codes[why], details)
    const elsewhere = why === 'unreachable' || why === 'broke-off'
    const hasContent = this.#begun && this.#attempt?.isAnswering
    if (hasContent || !elsewhere) this.#refuse(error)
    // a kept connection that the engine was just closing breaks off too: where there is no other replica, once more
    else this.#tryNext(errorAnswer(error), why === 'broke-off' && this.#tried.length === 1)
  }

  // ── its end ──

  #refuse(error: Failure, param: string | null = null): void {
    this.#answer(errorAnswer(error, param))
  }

  /** Where a stream has begun, an error. */
  #answer(answer: Answer): void {
    const { status, headers, body } = answer
    if (this.#begun) {
      this.#exchange.write(errorFrame(answer, this.#atLineStart))
      this.#exchange.end()
    } else {
      this.#exchange.send(status, [...headers, this.#idHeader], body, this.#ports.ending)
    }
    this.#finish(status)
  }

  get #idHeader() {
    return ['x-request-id', this.#start.id] as const
  }

  #finish(status: number): void {
    if (this.#over) return
    this.#over = true
    this.#attempt?.abort()
    this.#upload?.drop()
    this.#hold?.end()
    this.#ports.buffers.give(this.#heldBytes)
    const { meter, now } = this.#ports
    const durationMs = now() - this.#start.startedAt
    meter.ended({ id: this.#start.id, status, model: this.#chat?.model ?? null, durationMs })
    this.#onOver(this)
  }
}
