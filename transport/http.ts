// The HTTP server: the only file that knows uWebSockets.js; it hands each request out as an `HttpExchange`.

import type { HttpRequest, HttpResponse, us_listen_socket } from 'uWebSockets.js'
import { createServer } from 'node:net'
import { LlmgwError, messageOf } from '../kernel/errors.ts'

type Headers = readonly (readonly [name: string, value: string])[]

/** A client that sends nothing of its upload, or takes nothing of its stream, for so long is cut off. */
const patienceMs = 60_000
/** uWebSockets.js itself gives such a client 8 s at least, and again at each of these looks. */
const tendMs = 4000
/** As Node's own server takes; uWebSockets.js takes 4 KiB unless it is told otherwise before it is loaded. */
const headBytes = 16 * 1024

/**
 * One request and its answer. After the client has left every call does nothing, so nobody has to ask first.
 * `header` may be called only while the handler runs; `onGone`, `onBody` and `onDrain` are set there too.
 */
export class HttpExchange {
  readonly method: string
  /** As it was sent, without the query and still percent-encoded. */
  readonly path: string
  readonly #response: HttpResponse
  #request: HttpRequest | null
  /** Those whose client may fall silent. */
  readonly #tended: Set<HttpExchange>
  #open = true
  #gone: (() => void) | null = null
  /** For more of the upload, or for what was written to be taken. */
  #waits = false
  #waitedMs = 0
  #ending = false
  #status = 0
  #headers: Headers = []
  #chunk: string | Uint8Array = ''
  #taken = true

  constructor(response: HttpResponse, request: HttpRequest, tended: Set<HttpExchange>) {
    this.#tended = tended
    this.#response = response
    this.#request = request
    this.method = request.getCaseSensitiveMethod()
    this.path = request.getUrl()
    response.onAborted(() => {
      tended.delete(this)
      if (this.#open) this.#gone?.()
      this.#open = false
    })
  }

  /** Empty where the request has no such header; the name in lower case. */
  header(name: string): string {
    return this.#request?.getHeader(name) ?? ''
  }

  /** The client left before its answer was whole; told at most once, and never after `send` or `end`. */
  onGone(listener: () => void): void {
    this.#gone = listener
  }

  /** `chunk` is valid only during the call. A client that sends nothing for a minute is cut off. */
  onBody(listener: (chunk: Uint8Array, last: boolean) => void): void {
    if (!this.#open) return
    this.#waits = true
    this.#tended.add(this)
    this.#response.onData((chunk, last) => {
      this.#waits = !last
      this.#waitedMs = 0
      if (last) this.#tended.delete(this)
      listener(new Uint8Array(chunk), last)
    })
  }

  /** Told when a `write` that answered false has been sent. A client that takes nothing for a minute is cut off. */
  onDrain(listener: () => void): void {
    if (!this.#open) return
    this.#response.onWritable(() => {
      this.#response.cork(nothing) // sends what is left of that write, which nothing else does before the next one
      this.#taken = true
      this.#waits = false
      if (this.#ending) this.#endNow()
      else if (this.#open) listener()
      return true
    })
  }

  /** The whole answer at once; `close` also ends the connection. */
  send(status: number, headers: Headers, body: string | Uint8Array, close = false): void {
    if (!this.#open) return
    this.#open = false
    this.#tended.delete(this)
    this.#response.cork(() => {
      this.#writeHead(status, headers)
      if (this.method === 'HEAD') this.#response.endWithoutBody(byteLength(body), close)
      else this.#response.end(body, close)
    })
  }

  /** Starts a streamed answer with its first bytes; answers as `write` does. */
  begin(status: number, headers: Headers, chunk: Uint8Array): boolean {
    this.#status = status
    this.#headers = headers
    this.#tended.add(this)
    return this.write(chunk)
  }

  /** False: the client is slower than this; wait for `onDrain` before more is written. */
  write(chunk: string | Uint8Array): boolean {
    if (!this.#open) return true
    this.#chunk = chunk
    this.#response.cork(this.#flush)
    if (!this.#taken && !this.#waits) this.#waitedMs = 0
    this.#waits = !this.#taken
    return this.#taken
  }

  /** The regular end of a streamed answer, once the client has taken it. */
  end(): void {
    if (!this.#open) return
    this.#open = false
    this.#ending = true
    if (this.#taken) this.#endNow()
  }

  /** Called every `tendMs` while the client may fall silent. */
  tend(): void {
    if (this.#waits) this.#waitedMs += tendMs
    if (this.#waits && this.#waitedMs > patienceMs) this.#response.close()
    else {
      // together they change nothing but uWebSockets.js's own timeout, which begins anew
      this.#response.pause()
      this.#response.resume()
    }
  }

  /** After the handler has returned uWebSockets.js takes the request's headers back. */
  handled(): void {
    this.#request = null
  }

  // one closure for all chunks of an answer
  readonly #flush = (): void => {
    if (this.#status > 0) {
      this.#writeHead(this.#status, this.#headers)
      this.#status = 0
    }
    this.#taken = this.#response.write(this.#chunk)
  }

  // never with `true`: uWebSockets.js then writes the header `connection` into the body
  #endNow(): void {
    this.#ending = false
    this.#tended.delete(this)
    this.#response.cork(() => this.#response.end())
  }

  #writeHead(status: number, headers: Headers): void {
    this.#response.writeStatus(statusLine(status))
    for (const [name, value] of headers) this.#response.writeHeader(name, value)
  }
}

export interface HttpServer {
  readonly port: number
  /** Takes no new connections; exchanges that run go on. */
  stopListening(): void
  /** Ends every connection at once. */
  close(): void
}

/**
 * Listens with SO_REUSEPORT, so that several processes of one user may share a port.
 * Throws LLMGW_HTTP_UNAVAILABLE where uWebSockets.js does not load, LLMGW_PORT_IN_USE or LLMGW_LISTEN_FAILED.
 */
export async function startHttpServer(
  address: { host: string; port: number },
  handle: (exchange: HttpExchange) => void,
): Promise<HttpServer> {
  process.env['UWS_HTTP_MAX_HEADERS_SIZE'] = String(headBytes)
  const uws = await import('uWebSockets.js').then(
    (it) => it.default ?? it,
    (error: unknown) => {
      throw new LlmgwError('LLMGW_HTTP_UNAVAILABLE', { problem: messageOf(error) })
    },
  )
  const app = uws.App()
  const tended = new Set<HttpExchange>()
  const tending = setInterval(() => {
    for (const exchange of tended) exchange.tend()
  }, tendMs)
  app.any('/*', (response, request) => {
    const exchange = new HttpExchange(response, request, tended)
    handle(exchange)
    exchange.handled()
  })
  const socket = await new Promise<us_listen_socket | false>((resolve) =>
    app.listen(address.host, address.port, resolve),
  )
  if (socket === false) {
    clearInterval(tending)
    throw await whyNot(address)
  }
  let listening = true
  const stopListening = (): void => {
    if (listening) uws.us_listen_socket_close(socket)
    listening = false
  }
  return {
    port: uws.us_socket_local_port(socket),
    stopListening,
    close() {
      clearInterval(tending)
      listening = false // `close` closes the listening socket too
      app.close()
    },
  }
}

// uWebSockets.js tells only that it could not listen; Node tells why
const whyNot = (address: { host: string; port: number }): Promise<LlmgwError> =>
  new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', (error: NodeJS.ErrnoException) =>
      resolve(
        error.code === 'EADDRINUSE'
          ? new LlmgwError('LLMGW_PORT_IN_USE', address, { cause: error })
          : new LlmgwError(
              'LLMGW_LISTEN_FAILED',
              { ...address, problem: error.message },
              { cause: error },
            ),
      ),
    )
    probe.listen({ ...address, exclusive: true }, () =>
      probe.close(() =>
        resolve(new LlmgwError('LLMGW_LISTEN_FAILED', { ...address, problem: 'unknown reason' })),
      ),
    )
  })

const nothing = (): void => undefined

const byteLength = (body: string | Uint8Array): number =>
  typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength

const reasons: Readonly<Record<number, string>> = {
  200: 'OK',
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  413: 'Payload Too Large',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
}

const statusLine = (status: number): string => `${status} ${reasons[status] ?? 'Status'}`
