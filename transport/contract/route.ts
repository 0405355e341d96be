// What routers read from the bucket of routes: keys `route.<replica>`, `model.<token>`, `key.<sha256>`.
import { z } from 'zod'
import { modelNameSchema, tokenSchema } from './names.ts'

export const routeSchema = z.object({
  replica: tokenSchema,
  model: modelNameSchema,
  node: tokenSchema,
  engine: z.string().max(40),
  host: z.string().max(253),
  port: z.number().int().min(1).max(65535),
  slots: z.number().int().positive(),
  /** Draining: no new requests, running ones may end. */
  state: z.enum(['ready', 'draining']),
})
export type Route = z.infer<typeof routeSchema>

/** A model that requests may name, with or without a ready replica. */
export const routedModelSchema = z.object({
  model: modelNameSchema,
  /** Seconds since 1970, as OpenAI gives it. */
  created: z.number().int().nonnegative(),
})
export type RoutedModel = z.infer<typeof routedModelSchema>

/** What a router must know of a key; the key itself is nowhere, its digest is the entry's name. */
export const routedKeySchema = z.object({
  id: tokenSchema,
  name: z.string().max(100),
  scope: tokenSchema,
})
export type RoutedKey = z.infer<typeof routedKeySchema>

/** `all.revoked`: told besides the bucket, so that no router has to wait for its mirror. */
export const revokedSchema = z.object({ sha256: z.string().max(64) })
