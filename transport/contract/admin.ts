// The verbs of administration: what each asks and answers, on `adm.<verb>`.
import { z } from 'zod'
import { hardwareSchema, loadSchema } from './hardware.ts'
import { headerSchema, modelSchema } from './model.ts'
import { modelNameSchema, tokenSchema } from './names.ts'
import { installSchema, nodeFileSchema, shardStatusSchema } from './node.ts'

export const replicaViewSchema = z.object({
  replica: tokenSchema,
  model: modelNameSchema,
  node: tokenSchema,
  /** What the leader makes of the record and the node's last report. */
  state: z.enum([...shardStatusSchema.shape.phase.options, 'placed', 'draining', 'lost']),
  pid: z.number().int().nullable(),
  address: z.string().max(300).nullable(),
  inFlight: z.number().int().nonnegative(),
  reason: z.string().max(8192).nullable(),
  progress: shardStatusSchema.shape.progress,
  restarts: z.number().int().nonnegative(),
})
export type ReplicaView = z.infer<typeof replicaViewSchema>

export const nodeViewSchema = z.object({
  node: tokenSchema,
  boot: tokenSchema,
  pid: z.number().int(),
  version: z.string(),
  address: z.string(),
  state: z.enum(['up', 'silent', 'gone']),
  silentMs: z.number().nonnegative(),
  hardware: hardwareSchema,
  load: loadSchema.nullable(),
  files: z.array(nodeFileSchema),
  installs: z.array(installSchema),
  reservedBytes: z.number().nonnegative(),
})
export type NodeView = z.infer<typeof nodeViewSchema>

export const modelViewSchema = z.object({
  definition: modelSchema,
  header: headerSchema.nullable(),
  memoryBytes: z.number().nullable(),
  createdAt: z.number(),
  ready: z.number().int(),
  /** Why fewer replicas than wanted are placed, in words; null when all are. */
  reason: z.string().nullable(),
})
export type ModelView = z.infer<typeof modelViewSchema>

export const keyViewSchema = z.object({
  id: tokenSchema,
  name: z.string().max(100),
  scope: tokenSchema,
  createdAt: z.number(),
})
export type KeyView = z.infer<typeof keyViewSchema>

const none = z.strictObject({})
const done = z.object({ done: z.literal(true) })

/** Each verb of `llmgw ctl`, by what it asks and answers. */
export const adminVerbs = {
  status: {
    request: none,
    answer: z.object({
      leader: z.object({ name: tokenSchema, pid: z.number().int(), token: z.number().int() }),
      nodes: z.array(nodeViewSchema.pick({ node: true, pid: true, state: true, version: true })),
      routers: z.array(
        z.object({ router: tokenSchema, pid: z.number().int(), silentMs: z.number() }),
      ),
      models: z.array(
        z.object({
          model: modelNameSchema,
          wanted: z.number().int(),
          ready: z.number().int(),
          reason: z.string().nullable(),
        }),
      ),
      replicas: z.array(replicaViewSchema),
    }),
  },
  'nodes-list': { request: none, answer: z.object({ nodes: z.array(nodeViewSchema) }) },
  'models-list': { request: none, answer: z.object({ models: z.array(modelViewSchema) }) },
  'models-show': {
    request: z.strictObject({ model: modelNameSchema }),
    answer: z.object({ model: modelViewSchema, replicas: z.array(replicaViewSchema) }),
  },
  'models-add': { request: z.strictObject({ definition: modelSchema }), answer: done },
  'models-remove': { request: z.strictObject({ model: modelNameSchema }), answer: done },
  'replicas-list': { request: none, answer: z.object({ replicas: z.array(replicaViewSchema) }) },
  'keys-create': {
    request: z.strictObject({ name: z.string().min(1).max(100), scope: tokenSchema.optional() }),
    /** The only time that the secret is shown. */
    answer: z.object({ key: keyViewSchema, secret: z.string() }),
  },
  'keys-list': { request: none, answer: z.object({ keys: z.array(keyViewSchema) }) },
  'keys-revoke': { request: z.strictObject({ id: tokenSchema }), answer: done },
  'logs-read': {
    request: z.strictObject({ replica: tokenSchema, lines: z.number().int().min(1).max(5000) }),
    answer: z.object({ lines: z.array(z.string()) }),
  },
  /** In words: why a model is where it is, or is not where one would expect it. */
  why: {
    request: z.strictObject({ model: modelNameSchema }),
    answer: z.object({ lines: z.array(z.string()) }),
  },
} as const satisfies Record<string, { request: z.ZodType; answer: z.ZodType }>

export type AdminVerb = keyof typeof adminVerbs
export type AdminRequest<V extends AdminVerb> = z.infer<(typeof adminVerbs)[V]['request']>
export type AdminAnswer<V extends AdminVerb> = z.infer<(typeof adminVerbs)[V]['answer']>
