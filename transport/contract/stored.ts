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
