// What stands around every message between programs: version, remaining time, trace context.
import { z } from 'zod'
import { type Code, catalogue, type Failure } from '../../kernel/errors.ts'

/** Version of the wire; readers accept this one and the one before. */
export const wireVersion = 1
export const supportedVersions: readonly number[] = [1]

/** Upper bounds on what is unpacked, in bytes, before anything looks inside. */
export const maxMessageBytes = 512 * 1024

export const failureSchema = z.object({
  code: z.custom<Code>((it) => typeof it === 'string' && Object.hasOwn(catalogue, it)),
  message: z.string().max(4096),
  details: z.record(
    z.string().max(64),
    z.union([z.string().max(4096), z.number(), z.boolean(), z.null()]),
  ),
})

/** A message: `remainingMs` is the time its sender still waits, counted from arrival, absent where nobody waits. */
export const envelopeSchema = z.object({
  v: z.number().int(),
  id: z.string().min(1).max(64),
  remainingMs: z.number().int().nonnegative().max(3_600_000).optional(),
  /** W3C traceparent. */
  trace: z.string().max(128).optional(),
  body: z.unknown(),
})
export type Envelope = z.infer<typeof envelopeSchema>

/** The answer to a message: its body, or the failure that came instead. */
export const answerSchema = z.union([
  z.object({ v: z.number().int(), id: z.string().max(64), ok: z.literal(true), body: z.unknown() }),
  z.object({
    v: z.number().int(),
    id: z.string().max(64),
    ok: z.literal(false),
    error: failureSchema,
  }),
])
export type WireAnswer = z.infer<typeof answerSchema>

/** What a responder hands back: a value or an expected refusal. */
export type Outcome<T> = { ok: true; value: T } | { ok: false; error: Failure }
