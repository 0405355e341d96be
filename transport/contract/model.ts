// Models: what the catalog keeps of one, and what the header of its file tells.
import { z } from 'zod'
import { artifactSchema } from './artifact.ts'
import { modelNameSchema } from './names.ts'

const count = z.number().int().nonnegative()

/** What a GGUF header tells about memory; the numbers are those of the file's metadata. */
export const headerSchema = z.strictObject({
  architecture: z.string().max(60),
  /** Bytes of all tensors, which is about the file's size. */
  weightsBytes: count,
  layers: count.max(10_000),
  embeddingLength: count,
  heads: count,
  /** Key and value heads by layer, or one number for all. */
  headsKv: z.union([count, z.array(count).max(10_000)]),
  keyLength: count,
  valueLength: count,
  vocabulary: count,
  /** Longest context that the model was trained for, in tokens; null where the file does not say. */
  trainContextTokens: count.nullable(),
})
export type Header = z.infer<typeof headerSchema>

/** What a replica gets of its machine. Absent means that llmgw chooses. */
export const profileSchema = z.strictObject({
  /** Context of one slot, in tokens. */
  contextTokens: z.number().int().min(128).max(10_000_000).optional(),
  /** Requests that one replica works on at once. */
  slots: z.number().int().min(1).max(256).optional(),
  cores: z.number().int().min(1).max(1024).optional(),
  /** Memory to reserve instead of the estimate from the header, in bytes. */
  memoryBytes: z.number().int().positive().optional(),
})
export type Profile = z.infer<typeof profileSchema>

/** A model's definition as an operator gives it. */
export const modelSchema = z.strictObject({
  name: modelNameSchema,
  engine: z.string().regex(/^[a-z][a-z0-9-]{0,30}$/),
  artifact: artifactSchema,
  /** Known for presets; else read by a node from the file. */
  header: headerSchema.optional(),
  profile: profileSchema.default({}),
  replicas: z.number().int().min(0).max(64).default(1),
})
export type Model = z.infer<typeof modelSchema>
