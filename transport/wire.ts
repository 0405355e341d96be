// Envelopes as bytes: packed by the sender, and opened only by who knows their version.
import type { ZodType } from 'zod'
import { type Failure, failure } from '../kernel/errors.ts'
import { decode, encode } from './codec.ts'
import {
  answerSchema,
  type Envelope,
  envelopeSchema,
  maxMessageBytes,
  type Outcome,
  supportedVersions,
  type WireAnswer,
  wireVersion,
} from './contract/envelope.ts'
import { problemOf } from './contract/problem.ts'

/** Throws the codec's TypeError where the body is not plain. `remainingMs` is absent where nobody waits. */
export const packMessage = (message: Omit<Envelope, 'v'>): Uint8Array =>
  encode({ v: wireVersion, ...message } satisfies Envelope)

/** Opens a message; its body is not yet checked. Never throws. */
export const openMessage = (bytes: Uint8Array, subject: string): Outcome<Envelope> =>
  open(bytes, subject, envelopeSchema)

/** An answer as bytes; what cannot be packed becomes a failure that says so. */
export const packAnswer = (subject: string, id: string, outcome: Outcome<unknown>): Uint8Array => {
  const refuse = (problem: string): Uint8Array => {
    const error = shortened(failure('LLMGW_BAD_MESSAGE', { subject, problem }))
    return encode({ v: wireVersion, id, ok: false, error } satisfies WireAnswer)
  }
  const answer: WireAnswer = outcome.ok
    ? { v: wireVersion, id, ok: true, body: outcome.value }
    : { v: wireVersion, id, ok: false, error: shortened(outcome.error) }
  try {
    const bytes = encode(answer)
    const { byteLength } = bytes
    return byteLength <= maxMessageBytes ? bytes : refuse(`its answer has ${byteLength} bytes`)
  } catch (thrown) {
    return refuse(`its answer cannot be packed (${thrown})`)
  }
}

/** Opens an answer and checks its body; the responder's failure is handed on. Never throws. */
export const openAnswer = <A>(
  bytes: Uint8Array,
  subject: string,
  schema: ZodType<A>,
): Outcome<A> => {
  const answer = open(bytes, subject, answerSchema)
  if (!answer.ok) return answer
  const { value } = answer
  return value.ok ? check(value.body, subject, schema) : { ok: false, error: value.error }
}

/** The value if it has the schema, else LLMGW_BAD_MESSAGE naming the field. */
export const check = <T>(value: unknown, subject: string, schema: ZodType<T>): Outcome<T> => {
  const parsed = schema.safeParse(value)
  if (parsed.success) return { ok: true, value: parsed.data }
  const problem = problemOf(parsed.error)
  return { ok: false, error: failure('LLMGW_BAD_MESSAGE', { subject, problem }) }
}

/** The version is looked at before the rest, which another version may have changed. */
function open<T>(bytes: Uint8Array, subject: string, schema: ZodType<T>): Outcome<T> {
  const decoded = decode(bytes, maxMessageBytes, subject)
  if (!decoded.ok) return decoded
  const found = (decoded.value as { v?: unknown } | null)?.v
  if (typeof found === 'number' && !supportedVersions.includes(found)) {
    const supported = supportedVersions.join(', ')
    return { ok: false, error: failure('LLMGW_WIRE_VERSION', { found, supported }) }
  }
  return check(decoded.value, subject, schema)
}

/** Within the limits of the contract, so that a long reason does not cost the answer. */
function shortened(error: Failure): Failure {
  const maxLength = 4096
  const details = Object.entries(error.details).map(([name, value]) => [
    name,
    typeof value === 'string' ? value.slice(0, maxLength) : value,
  ])
  return {
    code: error.code,
    message: error.message.slice(0, maxLength),
    details: Object.fromEntries(details),
  }
}
