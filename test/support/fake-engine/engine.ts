// A fake llama.cpp server: its endpoints, its slots, and every fault that a test asks for; it remembers what it saw.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { type Behaviour, type Seen, wellBehaved } from './behaviour.ts'
import { answerChat } from './chat.ts'

export interface FakeEngine {
  readonly port: number
  /** Every chat request, in the order of their arrival. */
  readonly seen: Seen[]
  readonly running: number
  readonly waiting: number
  /** Changes what all further requests meet. */
  be(change: Partial<Behaviour>): void
  /** What the next chats meet, one each, before `be` counts again. */
  next(...changes: Partial<Behaviour>[]): void
  /** Resolves when nothing runs or waits. */
  idle(): Promise<void>
  close(): Promise<void>
}

/** Listens on loopback; port 0 takes a free one. Also obeys POST /control with a change as JSON, and tells what it saw on GET /control. */
export async function startFakeEngine(
  change: Partial<Behaviour> = {},
  port = 0,
): Promise<FakeEngine> {
  let behaviour: Behaviour = { ...wellBehaved, ...change }
  const queued: Partial<Behaviour>[] = []
  const seen: Seen[] = []
  const slots = new Slots()

  const be = (it: Partial<Behaviour>): void => {
    behaviour = { ...behaviour, ...it }
  }

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = '', url = '' } = request
    const path = url.split('?')[0] ?? ''
    if (path === '/control') return await control(request, response)
    if (behaviour.loading) return json(response, 503, loading)
    if (path === '/health') return json(response, 200, { status: 'ok' })
    const { authorization } = request.headers
    if (behaviour.key !== null && authorization !== `Bearer ${behaviour.key}`) {
      return json(response, 401, { error: { message: 'Invalid API Key', type, code: 401 } })
    }
    switch (`${method} ${path}`) {
      case 'GET /v1/models':
        return json(response, 200, { object: 'list', data: [{ id: behaviour.alias }] })
      case 'GET /metrics':
        response.setHeader('content-type', 'text/plain')
        response.end(metrics(slots))
        return
      case 'GET /slots':
        return json(response, 200, slots.view(behaviour.slots))
      case 'POST /v1/chat/completions':
        return await chat(request, response)
      default:
        return json(response, 404, { error: { message: 'File Not Found', type, code: 404 } })
    }
  }

  const chat = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const now: Behaviour = { ...behaviour, ...queued.shift() }
    const record = remember(request)
    seen.push(record)
    response.on('close', () => {
      if (!response.writableFinished) record.leftAt = performance.now()
    })
    if (now.fault?.kind === 'reset-before-headers') {
      record.doneAt = performance.now()
      request.socket.resetAndDestroy()
      return
    }
    record.body = await text(request)
    await slots.take(now.slots)
    try {
      await answerChat(response, now, record)
    } finally {
      slots.free()
      record.doneAt = performance.now()
    }
  }

  const control = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.method === 'POST') be(JSON.parse(await text(request)) as Partial<Behaviour>)
    json(response, 200, { seen, running: slots.running, waiting: slots.waiting })
  }

  const server = createServer((request, response) => {
    response.socket?.setNoDelay(true)
    serve(request, response).catch((error: unknown) => response.destroy(error as Error))
  })
  await listen(server, port)
  return {
    port: (server.address() as AddressInfo).port,
    seen,
    get running() {
      return slots.running
    },
    get waiting() {
      return slots.waiting
    },
    be,
    next: (...changes) => void queued.push(...changes),
    async idle() {
      while (slots.running + slots.waiting > 0) await delay(5)
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** The slots of the engine; who waits for one is not dropped when its client leaves. */
class Slots {
  running = 0
  readonly #queue: (() => void)[] = []

  get waiting(): number {
    return this.#queue.length
  }

  async take(count: number): Promise<void> {
    if (this.running < count) this.running += 1
    else await new Promise<void>((resolve) => this.#queue.push(resolve))
  }

  /** A slot goes straight to the next one that waits. */
  free(): void {
    const next = this.#queue.shift()
    if (next) next()
    else this.running -= 1
  }

  view(count: number) {
    return Array.from({ length: count }, (_, id) => ({ id, is_processing: id < this.running }))
  }
}

const type = 'authentication_error'
const loading = { error: { message: 'Loading model', type: 'unavailable_error', code: 503 } }

const metrics = (slots: Slots): string =>
  [
    '# HELP llamacpp:requests_processing Number of requests processing.',
    '# TYPE llamacpp:requests_processing gauge',
    `llamacpp:requests_processing ${slots.running}`,
    '# HELP llamacpp:requests_deferred Number of requests deferred.',
    '# TYPE llamacpp:requests_deferred gauge',
    `llamacpp:requests_deferred ${slots.waiting}`,
    '',
  ].join('\n')

const remember = (request: IncomingMessage): Seen => ({
  method: request.method ?? '',
  path: request.url ?? '',
  headers: Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
  ),
  body: '',
  at: performance.now(),
  leftAt: null,
  doneAt: null,
})

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' })
  response.end(JSON.stringify(body))
}

const listen = (server: Server, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
