// What a node knows of its machine. Unknown is null, never zero.
import { z } from 'zod'

const bytes = z.number().nonnegative()
const text = z.string().max(200)

export const gpuSchema = z.object({
  uuid: text,
  vendor: text,
  name: text,
  memoryBytes: bytes.nullable(),
  memoryFreeBytes: bytes.nullable(),
  computeCapability: text.nullable(),
  driver: text.nullable(),
  busId: text.nullable(),
  utilizationPercent: z.number().nullable(),
})
export type Gpu = z.infer<typeof gpuSchema>

export const hardwareSchema = z.object({
  hostname: text,
  os: text,
  kernel: text,
  architecture: text,
  cpu: z.object({
    model: text.nullable(),
    sockets: z.number().int().nullable(),
    cores: z.number().int().nullable(),
    threads: z.number().int().positive(),
    /** CPUs that this program may use: affinity and cgroup quota counted. */
    usable: z.number().positive(),
    numaNodes: z.number().int().nullable(),
    l3Bytes: bytes.nullable(),
    flags: z.array(z.string().max(40)).max(400),
  }),
  /** The smaller of the machine's and the cgroup's limit. */
  memoryBytes: bytes,
  network: z
    .array(z.object({ name: text, address: text, speedMbit: z.number().nullable() }))
    .max(256),
  gpus: z.array(gpuSchema).max(64),
  /** Tools that are missing or broken, and what that costs. */
  warnings: z.array(z.string().max(500)).max(50),
})
export type Hardware = z.infer<typeof hardwareSchema>

/** What changes from second to second. */
export const loadSchema = z.object({
  memoryAvailableBytes: bytes,
  diskFreeBytes: bytes,
  diskTotalBytes: bytes,
})
export type Load = z.infer<typeof loadSchema>
