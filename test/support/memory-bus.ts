// A bus in memory: several programs on one, each with its own name, and no server.
import { failure } from '../../kernel/errors.ts'
import type { Bus, BusStatus, Incoming } from '../../transport/bus.ts'
import type { Outcome } from '../../transport/contract/envelope.ts'
import { subjects } from '../../transport/contract/subjects.ts'
import { openAnswer, openMessage, packAnswer, packMessage } from '../../transport/wire.ts'

type Subscription = { pattern: readonly string[]; take: (message: Incoming) => void }

export interface MemoryBus extends Bus {
  /** As if the server went away and came back. */
  disconnect(): void
  reconnect(): void
}

/** What several programs' buses have in common. */
export interface MemoryWire {
  join(name: string): MemoryBus
}

export const memoryWire = (): MemoryWire => {
  const subscriptions = new Set<Subscription>()
  return { join: (name) => memoryBus(name, subscriptions) }
}

function memoryBus(name: string, subscriptions: Set<Subscription>): MemoryBus {
  let epoch = 1
  let connected = true
  const own = new Set<Subscription>()
  const listeners = new Set<(status: BusStatus) => void>()
  const tell = (status: BusStatus): void => {
    for (const listener of listeners) listener(status)
  }
  /** Delivers in a later turn, as a network does; false if nobody listens. */
  const send = (subject: string, bytes: Uint8Array, answer: (bytes: Uint8Array) => void) => {
    const takers = [...subscriptions].filter(({ pattern }) => matches(pattern, subject.split('.')))
    for (const { take } of takers) {
      queueMicrotask(() => {
        const opened = openMessage(bytes, subject)
        if (!opened.ok) return answer(packAnswer(subject, '', opened))
        const { id, body, remainingMs = null, trace = null } = opened.value
        let answered = false
        const reply = (outcome: Outcome<unknown>): void => {
          if (!answered) answer(packAnswer(subject, id, outcome))
          answered = true
        }
        take({ subject, body, remainingMs, trace, reply })
      })
    }
    return takers.length > 0
  }
  return {
    name,
    get epoch() {
      return epoch
    },
    get connected() {
      return connected
    },
    request(subject, body, schema, { withinMs, trace }) {
      const bytes = packMessage({
        id: 'test',
        remainingMs: withinMs,
        body,
        ...(trace ? { trace } : {}),
      })
      return new Promise((resolve) => {
        const noAnswer = failure('LLMGW_NO_ANSWER', { subject, withinMs })
        const timer = setTimeout(() => resolve({ ok: false, error: noAnswer }), withinMs)
        const end = (outcome: Parameters<typeof resolve>[0]): void => {
          clearTimeout(timer)
          resolve(outcome)
        }
        const answer = (it: Uint8Array): void => end(openAnswer(it, subject, schema))
        if (!connected) return
        if (send(subject, bytes, answer)) return
        const isAdmin = subject.startsWith(subjects.adm(''))
        end({ ok: false, error: isAdmin ? failure('LLMGW_NO_LEADER') : noAnswer })
      })
    },
    publish(subject, body) {
      const bytes = packMessage({ id: 'test', body })
      if (connected) send(subject, bytes, () => undefined)
    },
    subscribe(subject, take) {
      const subscription = { pattern: subject.split('.'), take }
      subscriptions.add(subscription)
      own.add(subscription)
      return { stop: () => void subscriptions.delete(subscription) }
    },
    onStatus(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    async close() {
      connected = false
      for (const subscription of own) subscriptions.delete(subscription)
      tell({ type: 'closed', reason: 'closed by this program' })
    },
    disconnect() {
      connected = false
      tell({ type: 'disconnected', reason: 'told to' })
    },
    reconnect() {
      connected = true
      epoch += 1
      tell({ type: 'connected', epoch })
    },
  }
}

function matches(pattern: readonly string[], subject: readonly string[]): boolean {
  const rest = pattern.indexOf('>')
  if (rest >= 0) {
    return subject.length > rest && matches(pattern.slice(0, rest), subject.slice(0, rest))
  }
  return (
    pattern.length === subject.length && pattern.every((it, i) => it === '*' || it === subject[i])
  )
}
