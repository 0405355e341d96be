// What nodes and routers report to the leader, and what the leader commands nodes.
import { z } from 'zod'
import { artifactSchema } from './artifact.ts'
import { failureSchema } from './envelope.ts'
import { hardwareSchema, loadSchema } from './hardware.ts'
import { headerSchema, profileSchema } from './model.ts'
import { modelNameSchema, tokenSchema } from './names.ts'

/** Progress of something long: what is being done, how much of how much, and how fast. */
export const progressSchema = z.object({
  what: z.string().max(300),
  doneBytes: z.number().nonnegative().nullable(),
  totalBytes: z.number().nonnegative().nullable(),
  bytesPerSecond: z.number().nonnegative().nullable(),
})
export type Progress = z.infer<typeof progressSchema>

/** Phases of a shard, in the order of a good life; `failed` waits for the leader to decide. */
export const shardPhases = [
  'looking',
  'installing',
  'fetching',
  'starting',
  'loading',
  'ready',
  'restarting',
  'stopping',
  'failed',
] as const

export const shardStatusSchema = z.object({
  replica: tokenSchema,
  model: modelNameSchema,
  phase: z.enum(shardPhases),
  pid: z.number().int().positive().nullable(),
  host: z.string().max(253),
  port: z.number().int().min(1).max(65535).nullable(),
  /** Why it is restarting or failed, the last log lines included. */
  reason: z.string().max(8192).nullable(),
  progress: progressSchema.nullable(),
  /** Read from the running process; null until known. */
  compute: z.enum(['cpu', 'gpu']).nullable(),
  engineVersion: z.string().max(100).nullable(),
  /** Requests that the engine itself counts; null where it does not tell. */
  running: z.number().int().nonnegative().nullable(),
  waiting: z.number().int().nonnegative().nullable(),
  restarts: z.number().int().nonnegative(),
})
export type ShardStatus = z.infer<typeof shardStatusSchema>

/** A file that is on the node. */
export const nodeFileSchema = z.object({
  /** `fileKey` of its artifact. */
  key: z.string().max(300),
  /** Null where it could not be had. */
  sizeBytes: z.number().nonnegative().nullable(),
  sha256: z.string().max(64).nullable(),
  header: headerSchema.nullable(),
  failure: failureSchema.nullable(),
})
export type NodeFile = z.infer<typeof nodeFileSchema>

export const installSchema = z.object({
  engine: z.string().max(40),
  version: z.string().max(100),
  /** `unproven` until its first load went well; `refused` names the reason. */
  state: z.enum(['installing', 'unproven', 'proven', 'refused', 'failed']),
  reason: z.string().max(4096).nullable(),
  progress: progressSchema.nullable(),
})
export type Install = z.infer<typeof installSchema>

/** A node's report, every second. `files` and `installs` are sent whole, and only when changed since the leader last took them. */
export const nodeReportSchema = z.object({
  kind: z.literal('node'),
  node: tokenSchema,
  boot: tokenSchema,
  seq: z.number().int().nonnegative(),
  load: loadSchema,
  shards: z.array(shardStatusSchema).max(512),
  files: z.array(nodeFileSchema).max(4096).optional(),
  installs: z.array(installSchema).max(64).optional(),
})
export type NodeReport = z.infer<typeof nodeReportSchema>

/** A router's report, every second: its live requests by replica. */
export const routerReportSchema = z.object({
  kind: z.literal('router'),
  router: tokenSchema,
  boot: tokenSchema,
  pid: z.number().int().positive(),
  holds: z.record(tokenSchema, z.number().int().nonnegative()),
  /** Highest revision of the routes bucket that it knows. */
  revision: z.number().int().nonnegative(),
})
export type RouterReport = z.infer<typeof routerReportSchema>

export const reportSchema = z.discriminatedUnion('kind', [nodeReportSchema, routerReportSchema])
export type Report = z.infer<typeof reportSchema>

/** `svc.members.register.<node>`: at start, and whenever a leader that does not know the node asks for it. */
export const registrationSchema = z.object({
  node: tokenSchema,
  boot: tokenSchema,
  pid: z.number().int().positive(),
  version: z.string().max(40),
  /** Where routers reach its engines. */
  address: z.string().max(253),
  hardware: hardwareSchema,
  report: nodeReportSchema,
})
export type Registration = z.infer<typeof registrationSchema>
/** `token` is the leadership's fencing token: a node refuses commands under a lower one. */
export const registeredSchema = z.object({ token: z.number().int().nonnegative() })

/** Commands on `act.<node>.<boot>.<kind>.<id>`, answered at once with "taken"; safe to receive twice. */
export const commandSchema = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('start'),
    token: z.number().int().nonnegative(),
    replica: tokenSchema,
    model: modelNameSchema,
    engine: z.string().max(40),
    artifact: artifactSchema,
    /** What placement chose where the definition left it open. */
    profile: profileSchema.required({
      contextTokens: true,
      slots: true,
      cores: true,
      memoryBytes: true,
    }),
    /** The engine's key, kept with its run record. */
    key: z.string().max(200),
  }),
  z.object({
    type: z.literal('stop'),
    token: z.number().int().nonnegative(),
    replica: tokenSchema,
  }),
  z.object({
    type: z.literal('fetch'),
    token: z.number().int().nonnegative(),
    artifact: artifactSchema,
  }),
  /** On `act.<node>.<boot>.node.<node>`: the leader lacks this node or missed a report, so it must register anew. */
  z.object({ type: z.literal('register'), token: z.number().int().nonnegative() }),
])
export type Command = z.infer<typeof commandSchema>
export const takenSchema = z.object({ taken: z.literal(true) })

/** A request for the end of a shard's log on `act.<node>.<boot>.logs.<replica>`. */
export const logsRequestSchema = z.object({ lines: z.number().int().min(1).max(5000) })
export const logsAnswerSchema = z.object({ lines: z.array(z.string().max(16_384)).max(5000) })
