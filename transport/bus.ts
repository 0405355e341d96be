// Messages between programs over NATS: requests, publications and subscriptions in envelopes.
// Longer than most: the one file that makes and holds the client's connection.
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import {
  connect,
  credsAuthenticator,
  errors,
  type Msg,
  type NatsConnection,
} from '@nats-io/transport-node'
import type { ZodType } from 'zod'
import { failure, LlmgwError, messageOf } from '../kernel/errors.ts'
import { maxMessageBytes, type Outcome } from './contract/envelope.ts'
import { subjects } from './contract/subjects.ts'
import { exchange } from './exchange.ts'
import { openAnswer, openMessage, packAnswer, packMessage } from './wire.ts'

export type BusStatus =
  | { type: 'connected'; epoch: number }
  | { type: 'disconnected'; reason: string }
  | { type: 'closed'; reason: string }

/** A message that arrived: its body is not yet checked. */
export interface Incoming {
  readonly subject: string
  readonly body: unknown
  /** How long its sender still waits, counted from arrival; null where nobody waits. */
  readonly remainingMs: number | null
  readonly trace: string | null
  /** Answers once; later calls and calls on messages that want no answer do nothing. */
  reply(outcome: Outcome<unknown>): void
}

export interface Bus {
  /** The name in the credentials. */
  readonly name: string
  /** Rises with each connection; whoever caches what a server said compares it. */
  readonly epoch: number
  readonly connected: boolean
  /** Ends with the checked answer, the responder's failure, or LLMGW_NO_ANSWER, LLMGW_SUBJECT_FORBIDDEN, LLMGW_BAD_MESSAGE; never throws. */
  request<A>(
    subject: string,
    body: unknown,
    answer: ZodType<A>,
    options: { withinMs: number; trace?: string },
  ): Promise<Outcome<A>>
  /** Sent if connected, else dropped: only for what is said again anyway. */
  publish(subject: string, body: unknown): void
  /**
   * Malformed messages are answered with LLMGW_BAD_MESSAGE and counted, and never reach the handler.
   * No two subscriptions of one connection may match one subject: the server then takes no answer.
   */
  subscribe(subject: string, handler: (message: Incoming) => void): { stop(): void }
  onStatus(listener: (status: BusStatus) => void): () => void
  close(): Promise<void>
}

/** What else the transport itself needs of the connection. */
export interface NatsBus extends Bus {
  readonly connection: NatsConnection
  /** Version of the server that it is, or was last, connected to. */
  readonly serverVersion: string
  /** Messages since the start that reached no handler, and why. */
  readonly dropped: Readonly<Record<Drop, number>>
}
type Drop = 'malformed' | 'version' | 'expired' | 'failed'

interface BusLog {
  warn(details: object, text: string): void
  error(details: object, text: string): void
}

export type BusOptions = {
  url: string
  /** Text of a credentials file. */
  credentials: string
  /** The name in the credentials. */
  name: string
  log?: BusLog
  /** How long the first connection is tried; without it, until it is there. */
  withinMs?: number
  /** Gives the first connection up. */
  signal?: AbortSignal
}

/**
 * Connects, and from then on reconnects for ever; only a revocation, a refusal of the credentials
 * or `close` end it, which is told as `closed`. Throws LLMGW_CREDENTIALS_REFUSED, or
 * LLMGW_NATS_UNREACHABLE after `withinMs`.
 */
export const connectBus = async (options: BusOptions): Promise<NatsBus> =>
  createBus(await firstConnection(options), options)

/** For one try to connect. */
const dialMs = 2000
/** Between two tries to connect; once more at random when reconnecting, so that not all come at once. */
const redialMs = 250
/** Between pings, of which two may stay unanswered: a frozen server is noticed within 6 s. */
const pingMs = 2000
/** For answers that are on their way when the program closes its connection. */
const flushMs = 1000

async function firstConnection(options: BusOptions): Promise<NatsConnection> {
  const { url, name, credentials, withinMs = Number.POSITIVE_INFINITY } = options
  const startedAt = performance.now()
  for (;;) {
    try {
      // a fresh object each time: the client modifies what it is handed
      return await connect({
        servers: url,
        name,
        authenticator: credsAuthenticator(new TextEncoder().encode(credentials)),
        inboxPrefix: subjects.inbox(name),
        timeout: dialMs,
        maxReconnectAttempts: -1,
        reconnectTimeWait: redialMs,
        reconnectJitter: redialMs,
        pingInterval: pingMs,
        maxPingOut: 2,
      })
    } catch (thrown) {
      const details = { url, name, problem: messageOf(thrown) }
      if (thrown instanceof errors.AuthorizationError) {
        throw new LlmgwError('LLMGW_CREDENTIALS_REFUSED', details, { cause: thrown })
      }
      if (performance.now() - startedAt >= withinMs) {
        throw new LlmgwError('LLMGW_NATS_UNREACHABLE', details, { cause: thrown })
      }
      await delay(redialMs, undefined, { signal: options.signal })
    }
  }
}

function createBus(connection: NatsConnection, { name, log }: BusOptions): NatsBus {
  const life = followLife(connection, log)
  const dropped = { malformed: 0, version: 0, expired: 0, failed: 0 }
  const bus: NatsBus = {
    name,
    connection,
    dropped,
    onStatus: life.onStatus,
    get epoch() {
      return life.epoch
    },
    get connected() {
      return life.connected
    },
    get serverVersion() {
      return life.serverVersion
    },
    request: (subject, body, answer, options) =>
      request(bus, { subject, body, answer, ...options }),
    publish(subject, body) {
      if (!life.connected || connection.isClosed()) return
      connection.publish(subject, packMessage({ id: randomUUID(), body }))
    },
    subscribe(subject, handler) {
      const subscription = connection.subscribe(subject, {
        callback: (error, message) => {
          if (error) log?.error({ subject, error }, 'the subscription ended')
          else receive(message, handler, { connection, dropped, log })
        },
      })
      return { stop: () => subscription.unsubscribe() }
    },
    async close() {
      // what was answered last is still on its way
      const flushed = life.connected ? connection.flush() : Promise.resolve()
      await Promise.race([flushed, delay(flushMs)]).catch(() => undefined)
      await connection.close()
    },
  }
  return bus
}

/** Status of a connection as it changes. */
function followLife(connection: NatsConnection, log: BusLog | undefined) {
  const listeners = new Set<(status: BusStatus) => void>()
  const life = {
    epoch: 1,
    connected: true,
    serverVersion: connection.info?.version ?? '',
    onStatus(listener: (status: BusStatus) => void) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
  const tell = (status: BusStatus): void => {
    for (const listener of listeners) listener(status)
  }
  const follow = async (): Promise<void> => {
    for await (const status of connection.status()) {
      if (status.type === 'disconnect' && life.connected) {
        life.connected = false
        tell({ type: 'disconnected', reason: `lost the connection to ${status.server}` })
      } else if (status.type === 'reconnect') {
        life.connected = true
        life.epoch += 1
        life.serverVersion = connection.info?.version ?? life.serverVersion
        tell({ type: 'connected', epoch: life.epoch })
      } else if (status.type === 'error') {
        log?.warn({ error: status.error }, 'nats-server refused something')
      }
    }
  }
  void follow()
  void connection.closed().then((reason) => {
    life.connected = false
    tell({ type: 'closed', reason: reason ? messageOf(reason) : 'closed by this program' })
  })
  return life
}

type Asked<A> = {
  subject: string
  body: unknown
  answer: ZodType<A>
  withinMs: number
  trace?: string
}

async function request<A>(bus: NatsBus, asked: Asked<A>): Promise<Outcome<A>> {
  const { subject, body, answer, withinMs, trace } = asked
  const remainingMs = Math.ceil(Math.min(withinMs, 3_600_000))
  const refuse = (problem: string): Outcome<never> => ({
    ok: false,
    error: failure('LLMGW_BAD_MESSAGE', { subject, problem }),
  })
  let bytes: Uint8Array
  try {
    bytes = packMessage({ id: randomUUID(), remainingMs, body, ...(trace ? { trace } : {}) })
  } catch (thrown) {
    return refuse(messageOf(thrown))
  }
  if (bytes.byteLength > maxMessageBytes) return refuse(`it has ${bytes.byteLength} bytes`)
  try {
    const message = await exchange(bus, remainingMs, (timeout) =>
      bus.connection.request(subject, bytes, { timeout }),
    )
    return openAnswer(message.data, subject, answer)
  } catch (thrown) {
    return unanswered(thrown, subject, withinMs)
  }
}

type Receiver = {
  connection: NatsConnection
  dropped: Record<Drop, number>
  log: BusLog | undefined
}

/** From the wire to the handler; what is wrong ends here. */
function receive(
  message: Msg,
  handler: (message: Incoming) => void,
  { connection, dropped, log }: Receiver,
): void {
  const { subject } = message
  const opened = openMessage(message.data, subject)
  if (!opened.ok) {
    dropped[opened.error.code === 'LLMGW_WIRE_VERSION' ? 'version' : 'malformed'] += 1
    log?.warn({ subject, problem: opened.error.message }, 'dropped a message')
    message.respond(packAnswer(subject, '', opened))
    return
  }
  const { id, body, trace = null, remainingMs = null } = opened.value
  if (remainingMs === 0) {
    dropped.expired += 1
    return
  }
  let answered = false
  const reply = (outcome: Outcome<unknown>): void => {
    if (answered || connection.isClosed()) return
    answered = true
    message.respond(packAnswer(subject, id, outcome))
  }
  try {
    handler({ subject, body, remainingMs, trace, reply })
  } catch (error) {
    // thrown on, it would end the reading of the whole connection
    dropped.failed += 1
    log?.error({ subject, error }, 'a handler threw')
    reply({ ok: false, error: failure('LLMGW_HANDLER_FAILED', { subject }) })
  }
}

/** Why a request has no answer; only the server's own refusals are known at once. */
function unanswered(thrown: unknown, subject: string, withinMs: number): Outcome<never> {
  const cause = thrown instanceof errors.RequestError ? thrown.cause : thrown
  if (cause instanceof errors.PermissionViolationError) {
    return { ok: false, error: failure('LLMGW_SUBJECT_FORBIDDEN', { subject }) }
  }
  if (cause instanceof errors.NoRespondersError && subject.startsWith(subjects.adm(''))) {
    return { ok: false, error: failure('LLMGW_NO_LEADER') }
  }
  return { ok: false, error: failure('LLMGW_NO_ANSWER', { subject, withinMs }) }
}
