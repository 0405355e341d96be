// What may be said to the catalog, and what it keeps of a model.
import { z } from 'zod'
import type { Outcome } from '../../../transport/contract/envelope.ts'
import { type Header, headerSchema, modelSchema } from '../../../transport/contract/model.ts'

/** What is kept of a model in the store, under `model.<token>`. */
export const catalogModelSchema = z.object({
  definition: modelSchema,
  /** Milliseconds since 1970; tells a model from an earlier one of the same name. */
  createdAt: z.number().int().nonnegative(),
  /** Given with the definition, or learnt from the file. */
  header: headerSchema.nullable(),
})
export type CatalogModel = z.infer<typeof catalogModelSchema>

/** All models by name; never changed once told. */
export type Models = ReadonlyMap<string, CatalogModel>

/** What `models-add` asks, before its definition is looked into: the catalog names the field that is wrong. */
export const addSchema = z.strictObject({ definition: z.unknown() })
export type AddRequest = z.infer<typeof addSchema>

export type Done = (outcome: Outcome<{ done: true }>) => void

export type Command =
  /** `definition` is checked here, so that the field that is wrong can be named. */
  | { type: 'add'; definition: unknown; at: number; replyTo: Done }
  | { type: 'remove'; model: string; replyTo: Done }
  /** A node has read a file's header. */
  | { type: 'learnt'; model: string; header: Header }

export type Fact =
  | { type: 'loaded'; models: readonly CatalogModel[] }
  | { type: 'unloaded'; reason: string }
  /** The store has what was last changed. */
  | { type: 'stored' }
  | { type: 'unstored'; reason: string }

export type Message = Command | Fact
