// What may be said to a candidate for leadership, and what the record of the lease holds.
import { z } from 'zod'
import { tokenSchema } from '../../../transport/contract/names.ts'

/** A moment on three clocks; only differences between moments of one machine mean anything. */
export type Instant = { monotonicMs: number; bootMs: number; wallMs: number }

/** A process as others on its machine can look it up. */
export const processSchema = z.object({
  bootId: z.string().max(64),
  pidNamespace: z.string().max(64),
  pid: z.number().int().positive(),
  startTicks: z.number().int().nonnegative(),
})
export type ProcessIdentity = z.infer<typeof processSchema>

/** The one record in the lease's bucket. */
export const recordSchema = z.object({
  v: z.literal(1),
  holder: z.object({ node: tokenSchema, boot: z.string().max(64), uid: z.string().max(64) }),
  /** Rises with each change of the holder. */
  epoch: z.number().int().positive(),
  lengthMs: z.number().int().positive(),
  /** The holder stopped acting before it wrote this. */
  released: z.boolean(),
  process: processSchema,
})
export type LeaseRecord = z.infer<typeof recordSchema>

/** What a look at the lease showed: while all of it stays the same, its holder was silent. */
export type Sight = {
  record: LeaseRecord | null
  revision: number
  created: string
  streamLeader: string
  /** The connection's, which changes when the store was out of reach. */
  epoch: number
  /** The holder ran on this machine and its process is gone. */
  holderDead: boolean
}

/** Told by the subtree that leads: a store or a node showed that another leader has taken over. */
export type Command = { type: 'deposed'; token: number }

/** Told by the candidate's own effects; `at` is when the effect ended. */
export type Fact =
  | { type: 'look-due'; attempt: number }
  | { type: 'seen'; attempt: number; at: Instant; sight: Sight }
  | { type: 'unseen'; attempt: number; at: Instant }
  | { type: 'renew-due'; attempt: number }
  /** A compare-and-set ended; `sent` is when it left. */
  | { type: 'stored'; attempt: number; sent: Instant; at: Instant; revision: number }
  | { type: 'mismatched'; attempt: number; at: Instant }
  /** It may yet be applied. */
  | { type: 'unanswered'; attempt: number; at: Instant }
  | { type: 'fenced'; token: number }
  | { type: 'unfenced'; token: number }
  | { type: 'fence-due'; token: number }
  /** The authority that counts from `sent` has run out. */
  | { type: 'deadline'; token: number; sent: number }
  /** The subtree ended of itself. */
  | { type: 'fallen'; token: number; reason: string }
  /** The subtree was stopped and is gone. */
  | { type: 'stepped-down'; token: number }

export type Message = Command | Fact
