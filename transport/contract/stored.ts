// What lies in files and buckets besides the records of actors: the identity, fences, exports.
import { z } from 'zod'

const seedSchema = z.string().regex(/^S[AO][A-Z2-7]{56}$/, 'must be a seed')

/** The identity's file: keys as seeds, and the tokens that they signed. */
export const identitySchema = z.strictObject({
  version: z.literal(1),
  operator: seedSchema,
  system: seedSchema,
  account: seedSchema,
  /** Signing keys by role; a newer program may know more roles than wrote the file. */
  roles: z.record(z.string(), seedSchema),
  jwts: z.strictObject({ operator: z.string(), system: z.string(), account: z.string() }),
})
export type StoredIdentity = z.infer<typeof identitySchema>

/** The value of a bucket's fence. */
export const fenceSchema = z.object({ token: z.number().int().nonnegative() })

/** First line of an export; `sha256` is that of all that follows it. */
export const exportHeaderSchema = z.object({
  format: z.literal('llmgw-export'),
  version: z.number().int(),
  /** Public key of the account whose state it was; for show, since state may move to another cluster. */
  cluster: z.string().max(100),
  /** Milliseconds since 1970. */
  exportedAt: z.number().int(),
  counts: z.object({ state: z.number().int(), route: z.number().int() }),
  sha256: z.string(),
})
export type ExportHeader = z.infer<typeof exportHeaderSchema>

/** Each further line of an export. */
export const exportLineSchema = z.strictObject({
  bucket: z.enum(['state', 'route']),
  key: z.string().min(1),
  value: z.unknown(),
})
export type ExportLine = z.infer<typeof exportLineSchema>
