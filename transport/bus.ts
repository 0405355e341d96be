// Messages between programs over NATS: requests, publications and subscriptions in envelopes.
import type { ZodType } from 'zod'
import type { Outcome } from './contract/envelope.ts'

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
  /** Malformed messages are answered with LLMGW_BAD_MESSAGE and counted, and never reach the handler. */
  subscribe(subject: string, handler: (message: Incoming) => void): { stop(): void }
  onStatus(listener: (status: BusStatus) => void): () => void
  close(): Promise<void>
}
