// One chat answer of the fake engine: prefill, then deltas or the whole, with the fault that was asked for.
import type { ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { Behaviour, Seen } from './behaviour.ts'

type ChatBody = { stream?: boolean; stream_options?: { include_usage?: boolean }; n?: number }

/** Ends when the engine is through with the request; like llama.cpp it goes on with a plain one whose client left. */
export async function answerChat(
  response: ServerResponse,
  behaviour: Behaviour,
  seen: Seen,
): Promise<void> {
  const request = JSON.parse(seen.body) as ChatBody
  const writer = new Writer(response, behaviour)
  const left = () => seen.leftAt !== null
  const { fault } = behaviour
  if (fault?.kind === 'silent') return await untilLeft(seen)
  if (behaviour.prefillMs > 0) await prefill(writer, behaviour, request.stream === true)
  if (fault?.kind === 'status') {
    response.writeHead(fault.status, { 'content-type': 'application/json', ...fault.headers })
    response.end(fault.body)
    return
  }
  if (request.stream !== true) {
    for (const _ of behaviour.deltas) await pause(behaviour.paceMs)
    if (fault?.kind === 'reset') return reset(response)
    if (fault?.kind === 'stall') return await untilLeft(seen)
    response.setHeader('content-type', 'application/json; charset=utf-8')
    response.end(JSON.stringify(plain(behaviour)))
    return
  }
  let sent = 0
  for (const event of events(behaviour, request)) {
    if (sent > 0) await pause(behaviour.paceMs)
    if (left()) return
    if (fault !== null && 'after' in fault && sent >= fault.after) {
      if (fault.kind === 'stall') return await untilLeft(seen)
      if (fault.kind === 'reset') return reset(response)
      if (fault.kind === 'error-event') {
        const error = { code: 500, message: 'the slot failed', type: 'server_error' }
        await writer.event(JSON.stringify({ error }))
      }
      response.end()
      return
    }
    await writer.event(event)
    sent += 1
  }
  if (left()) return
  await writer.event('[DONE]', behaviour.withoutLastBlank)
  response.end()
}

async function prefill(writer: Writer, { prefillMs, pingMs }: Behaviour, stream: boolean) {
  const until = performance.now() + prefillMs
  while (performance.now() < until) {
    await delay(Math.min(pingMs ?? prefillMs, until - performance.now()))
    if (pingMs !== null && stream && performance.now() < until) await writer.write(':\n\n')
  }
}

function events(behaviour: Behaviour, { stream_options: options, n = 1 }: ChatBody): string[] {
  const { deltas, oddEvent, alias, withoutUsage } = behaviour
  const choices = Array.from({ length: n }, (_, index) => index)
  const chunk = (index: number, delta: object, finish: string | null) => ({
    ...head(alias),
    choices: [{ index, delta, finish_reason: finish }],
  })
  const made: (string | object)[] = behaviour.events
    ? [...behaviour.events]
    : [
        ...choices.map((index) => chunk(index, { role: 'assistant', content: null }, null)),
        ...deltas.flatMap((content) => choices.map((index) => chunk(index, { content }, null))),
        ...choices.map((index) => chunk(index, {}, 'stop')),
      ]
  if (oddEvent) made.unshift({ ...head(alias), note: 'no choices here' })
  if (options?.include_usage && !withoutUsage && !behaviour.events) {
    made.push({ ...head(alias), choices: [], usage: usage(behaviour), timings: { predicted_n: 4 } })
  }
  return made.map((it) => (typeof it === 'string' ? it : JSON.stringify(it)))
}

const plain = (behaviour: Behaviour) => ({
  ...head(behaviour.alias),
  object: 'chat.completion',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: behaviour.deltas.join('') },
      finish_reason: 'stop',
    },
  ],
  usage: usage(behaviour),
})

const head = (alias: string) => ({
  id: 'chatcmpl-fake',
  object: 'chat.completion.chunk',
  created: 1_790_000_000,
  model: alias,
  system_fingerprint: 'b11549',
})

const usage = ({ deltas }: Behaviour) => ({
  prompt_tokens: 5,
  completion_tokens: deltas.length,
  total_tokens: 5 + deltas.length,
})

/** Writes events in the framing and pieces that were asked for, at the pace at which the client reads. */
class Writer {
  readonly #response: ServerResponse
  readonly #behaviour: Behaviour

  constructor(response: ServerResponse, behaviour: Behaviour) {
    this.#response = response
    this.#behaviour = behaviour
  }

  async event(data: string, withoutBlank = false): Promise<void> {
    const { lineEnd } = this.#behaviour
    await this.write(`data: ${data}${lineEnd}${withoutBlank ? '' : lineEnd}`)
  }

  async write(text: string): Promise<void> {
    const { pieceBytes } = this.#behaviour
    if (!this.#response.headersSent) this.#response.setHeader('content-type', 'text/event-stream')
    const bytes = Buffer.from(text)
    const step = pieceBytes || bytes.length
    for (let at = 0; at < bytes.length; at += step) {
      await this.#send(bytes.subarray(at, at + step))
    }
  }

  async #send(piece: Buffer): Promise<void> {
    const response = this.#response
    if (response.destroyed) return
    const room = response.write(piece)
    if (!room) await Promise.race([once(response, 'drain'), once(response, 'close')])
    // each piece is a packet of its own
    else if (this.#behaviour.pieceBytes > 0) await new Promise(setImmediate)
  }
}

const once = (response: ServerResponse, event: 'drain' | 'close'): Promise<void> =>
  new Promise((resolve) => response.once(event, () => resolve()))

const pause = (ms: number): Promise<void> => (ms > 0 ? delay(ms) : Promise.resolve())

function reset(response: ServerResponse): void {
  response.socket?.resetAndDestroy()
}

async function untilLeft(seen: Seen): Promise<void> {
  while (seen.leftAt === null) await delay(5)
}
