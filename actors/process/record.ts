// What is written about a kept process, so that the next keeper finds it again.
import { z } from 'zod'

export const recordSchema = z.object({
  version: z.literal(1),
  spec: z.object({
    name: z.string(),
    argv: z.array(z.string()).min(1),
    env: z.record(z.string(), z.string()),
    cwd: z.string(),
    /** Records of before it was known are read and adopted. */
    user: z.object({ uid: z.number().int(), gid: z.number().int() }).exactOptional(),
    stop: z.array(
      z.object({
        signal: z.custom<NodeJS.Signals>((it) => typeof it === 'string' && it.startsWith('SIG')),
        afterMs: z.number().nonnegative(),
        to: z.enum(['group', 'process']),
      }),
    ),
  }),
  /** Random, of this launch alone; part of the marker in the environment. */
  token: z.string().regex(/^[0-9a-f]{32}$/),
  bootId: z.string(),
  /** Wall clock, milliseconds since 1970; for people. */
  startedAt: z.number(),
  /** Null from before the start until the keeper has seen it. */
  process: z.object({ pid: z.number().int().positive(), startTicks: z.number() }).nullable(),
})
export type RunRecord = z.infer<typeof recordSchema>

/** What one launch is known by. */
export type Launch = { spec: { name: string }; token: string }

/** Stands in the environment of the process and of all that it starts, unless they hide it. */
export const markerName = 'LLMGW_PROCESS'
export const markerValueOf = ({ spec, token }: Launch): string => `${spec.name}/${token}`
