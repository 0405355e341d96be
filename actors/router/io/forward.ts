// Carries requests to engines and their bytes back, by undici; the one file where a request meets an engine's socket.
import { type Dispatcher, Pool } from 'undici'
import type { Route } from '../../../transport/contract/route.ts'
import type { Forward, Try, TryEvents, TryFailure } from '../request/ports.ts'

/** How long a try may take for each of its steps, in milliseconds. */
export type ForwardTimeouts = {
  connectMs: number
  /** From the request's going out to the first byte of the answer. */
  firstByteMs: number
  /** Between two chunks of an answer. */
  idleMs: number
}

export interface Forwarding extends Forward {
  /** Closes the kept connections to a replica; requests that run on them end regularly. */
  forget(replica: string): void
  close(): Promise<void>
}

/** Engines on uvicorn close idle connections after 5 s; ours go before, unless the engine names another time. */
const keepAliveMs = 4000

type Pooled = { origin: string; pool: Pool; headers: string[] }

export type ForwardOptions = {
  timeouts: ForwardTimeouts
  /** The key that the replica's engine expects. */
  keyOf(replica: string): string
  /** Hears why a try failed. */
  onTrouble(trouble: { id: string; replica: string; why: TryFailure; problem: string }): void
}

export function createForwarding({ timeouts, keyOf, onTrouble }: ForwardOptions): Forwarding {
  const pools = new Map<string, Pooled>()
  const running = new Set<EngineTry>()
  // one timer for all tries, so that none is made per request or chunk
  const watch = setInterval(
    () => {
      const now = performance.now()
      for (const it of running) it.checkTime(now)
    },
    Math.min(250, timeouts.firstByteMs / 4, timeouts.idleMs / 4),
  ).unref()

  const poolOf = ({ replica, host, port }: Route): Pooled => {
    const origin = `http://${host.includes(':') ? `[${host}]` : host}:${port}`
    const known = pools.get(replica)
    if (known?.origin === origin) return known
    void known?.pool.close() // its engine was started again on another port
    const pool = new Pool(origin, {
      connections: null,
      pipelining: 1,
      keepAliveTimeout: keepAliveMs,
      connect: { timeout: timeouts.connectMs },
      headersTimeout: 0, // the watch above knows more
      bodyTimeout: 0,
    })
    // a fresh set: nothing of the client's headers reaches an engine but what is named here
    const headers = [
      'authorization',
      `Bearer ${keyOf(replica)}`,
      'content-type',
      'application/json',
    ]
    const made = { origin, pool, headers }
    pools.set(replica, made)
    return made
  }

  return {
    start(route, { path, body, accept, id, trace }, events) {
      const { pool, headers } = poolOf(route)
      const engineTry = new EngineTry(events, timeouts, {
        over: (it) => running.delete(it),
        trouble: (why, problem) => onTrouble({ id, replica: route.replica, why, problem }),
      })
      running.add(engineTry)
      const own = ['accept', accept, 'x-request-id', id]
      if (trace !== '') own.push('traceparent', trace)
      pool.dispatch({ path, method: 'POST', headers: [...headers, ...own], body }, engineTry)
      return engineTry
    },
    forget(replica) {
      const known = pools.get(replica)
      pools.delete(replica)
      void known?.pool.close()
    },
    async close() {
      clearInterval(watch)
      const all = [...pools.values()]
      pools.clear()
      await Promise.all(all.map(({ pool }) => pool.destroy()))
    },
  }
}

type Tell = { over(it: EngineTry): void; trouble(why: TryFailure, problem: string): void }

class EngineTry implements Dispatcher.DispatchHandlers, Try {
  readonly #events: TryEvents
  readonly #timeouts: ForwardTimeouts
  readonly #tell: Tell
  #abort: (() => void) | null = null
  #resume: (() => void) | null = null
  #paused = false
  #over = false
  #sent = false
  #began = false
  #lastAt = performance.now()

  constructor(events: TryEvents, timeouts: ForwardTimeouts, tell: Tell) {
    this.#events = events
    this.#timeouts = timeouts
    this.#tell = tell
  }

  abort(): void {
    this.#finish()
    this.#abort?.()
  }

  resume(): void {
    if (!this.#paused || this.#over) return
    this.#paused = false
    this.#lastAt = performance.now() // the engine was not the one to wait for
    this.#resume?.()
  }

  /** Called by the watch. */
  checkTime(now: number): void {
    if (!this.#sent || this.#paused) return
    const { firstByteMs, idleMs } = this.#timeouts
    if (now - this.#lastAt <= (this.#began ? idleMs : firstByteMs)) return
    this.#fail(this.#began ? 'stalled' : 'silent', 'it took too long')
    this.#abort?.()
  }

  onConnect(abort: () => void): void {
    this.#abort = abort
    if (this.#over) {
      abort() // given up while it was being connected
      return
    }
    this.#sent = true
    this.#lastAt = performance.now()
    this.#events.onSent()
  }

  onHeaders(status: number, headers: Buffer[], resume: () => void): boolean {
    if (status < 200 || this.#over) return true
    this.#resume = resume
    this.#events.onHead(status, headerIn(headers, 'retry-after'))
    return true
  }

  onData(chunk: Buffer): boolean {
    if (this.#over) return true
    this.#began = true
    this.#lastAt = performance.now()
    this.#paused = !this.#events.onChunk(chunk)
    return !this.#paused
  }

  onComplete(): void {
    if (this.#over) return
    this.#finish()
    this.#events.onEnd()
  }

  onError(error: NodeJS.ErrnoException): void {
    this.#fail(this.#sent ? 'broke-off' : 'unreachable', error.code ?? error.message)
  }

  #fail(why: TryFailure, problem: string): void {
    if (this.#over) return
    this.#finish()
    this.#tell.trouble(why, problem)
    this.#events.onFail(why)
  }

  #finish(): void {
    this.#over = true
    this.#tell.over(this)
  }
}

function headerIn(headers: readonly Buffer[], name: string): string | null {
  for (let at = 0; at + 1 < headers.length; at += 2) {
    if (headers[at]?.toString('latin1').toLowerCase() === name) {
      return headers[at + 1]?.toString('latin1') ?? null
    }
  }
  return null
}
