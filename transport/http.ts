// The HTTP server: the only file that knows uWebSockets.js; it hands each request out as an `HttpExchange`.

import type { HttpRequest, HttpResponse, us_listen_socket } from 'uWebSockets.js'
import { createServer } from 'node:net'
import { LlmgwError, messageOf } from '../kernel/errors.ts'

type Headers = readonly (readonly [name: string, value: string])[]

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
  #open = true
  #gone: (() => void) | null = null
  #status = 0
  #headers: Headers = []
  #chunk: string | Uint8Array = ''
  #taken = true

  constructor(response: HttpResponse, request: HttpRequest) {
    this.#response = response
    this.#request = request
    this.method = request.getCaseSensitiveMethod()
    this.path = request.getUrl()
    response.onAborted(() => {
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

  /** `chunk` is valid only during the call. A client that sends nothing for 10 s is cut off. */
  onBody(listener: (chunk: Uint8Array, last: boolean) => void): void {
    if (!this.#open) return
    this.#response.onData((chunk, last) => listener(new Uint8Array(chunk), last))
  }

  /** Told when a `write` that answered false has been sent. A client that takes nothing for 10 s is cut off. */
  onDrain(listener: () => void): void {
    if (!this.#open) return
    this.#response.onWritable(() => {
      if (this.#open) listener()
      return true
    })
  }

  /** The whole answer at once; `close` also ends the connection. */
  send(status: number, headers: Headers, body: string | Uint8Array, close = false): void {
    if (!this.#open) return
    this.#open = false
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
    return this.write(chunk)
  }

  /** False: the client is slower than this; wait for `onDrain` before more is written. */
  write(chunk: string | Uint8Array): boolean {
    if (!this.#open) return true
    this.#chunk = chunk
    this.#response.cork(this.#flush)
    return this.#taken
  }

  /** The regular end of a streamed answer; `close` also ends the connection. */
  end(close = false): void {
    if (!this.#open) return
    this.#open = false
    this.#response.cork(() => this.#response.end('', close))
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
  const uws = await import('uWebSockets.js').then(
    (it) => it.default ?? it,
    (error: unknown) => {
      throw new LlmgwError('LLMGW_HTTP_UNAVAILABLE', { problem: messageOf(error) })
    },
  )
  const app = uws.App()
  app.any('/*', (response, request) => {
    const exchange = new HttpExchange(response, request)
    handle(exchange)
    exchange.handled()
  })
  const socket = await new Promise<us_listen_socket | false>((resolve) =>
    app.listen(address.host, address.port, resolve),
  )
  if (socket === false) throw await whyNot(address)
  let listening = true
  const stopListening = (): void => {
    if (listening) uws.us_listen_socket_close(socket)
    listening = false
  }
  return {
    port: uws.us_socket_local_port(socket),
    stopListening,
    close() {
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
