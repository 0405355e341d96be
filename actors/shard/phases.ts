// The phases of one replica's part on this node, its effects, and the steps that several phases share.
import type { Engine } from '../../engines/engine.ts'
import { present } from '../../kernel/assert.ts'
import { catalogue, type Failure } from '../../kernel/errors.ts'
import { type Budget, type Limits, newBudget, spend } from '../../kernel/restart.ts'
import { type Step, stay } from '../../kernel/step.ts'
import type { Artifact } from '../../transport/contract/artifact.ts'
import type { Progress } from '../../transport/contract/node.ts'
import type { FetchedFile } from '../node/files/protocol.ts'
import type { ProcessSpec } from '../process/protocol.ts'
import type { Loss } from './diagnosis.ts'
import type { Pace } from './pace.ts'
import type { Event, Fact, Saved, ShardSpec } from './protocol.ts'

/** Restarts of an engine before its replica is failed. */
const engineLimits: Limits = {
  intensity: 5,
  /** Long enough that an engine which dies at each load spends them, whatever it loads. */
  periodMs: 600_000,
  delayMs: { min: 500, max: 30_000 },
}

/** What a shard knows of its surroundings. */
export type Setting = { engineOf(name: string): Engine | undefined; host: string }

type Core = {
  spec: ShardSpec
  attempt: number
  budget: Budget
  restarts: number
  portsTried: number
}
/** An engine that was installed on this machine, and the file that it is to load. */
type Parts = {
  argv: readonly string[]
  version: string
  file: Pick<FetchedFile, 'path' | 'sizeBytes'>
}
/** An engine that runs. */
export type Up = { pid: number; port: number; version: string; fileBytes: number }
type Phase<P extends string, D = unknown> = { phase: P } & Core & D

/**
 *     looking ──absent──> installing ──> fetching ──> starting ──> loading ──ready──> ready
 *        └──adopted──> loading                           └── process lost, late, hung ──┘
 *                                                                    v
 *     installing <──due── restarting <──budget left────────────── falling ──of no use──> failed
 *     installing <──port taken──────────────────────────────────────┘
 *     all ──stop──> stopping ──> gone, or installing where another definition was given
 */
export type State =
  | Phase<'looking', { saved: Saved | null }>
  | Phase<'installing', { progress: Progress | null }>
  | Phase<'fetching', { progress: Progress | null; argv: readonly string[]; version: string }>
  | Phase<'starting', Parts & { port: number | null }>
  | Phase<'loading', Up & { adopted: boolean }>
  | Phase<'ready', Up & Watched>
  /** Lost its process, or is ending it, and then looks why. */
  | Phase<'falling', { loss: Loss; port: number | null; version: string }>
  | Phase<'restarting', { reason: string }>
  | Phase<'failed', { reason: string }>
  | Phase<'stopping', { next: ShardSpec | null }>

type Watched = {
  running: number | null
  waiting: number | null
  compute: 'cpu' | 'gpu' | null
  misses: number
  pace: Pace | null
}

export type Effect =
  /** Reads what is saved, then makes the process's keeper, which looks for the process. */
  | { do: 'find' }
  | { do: 'ensure'; attempt: number; engine: string }
  | { do: 'fetch'; attempt: number; artifact: Artifact }
  /** Chooses a free port, makes the engine's folder, and looks whether the engine may read its model. */
  | { do: 'reserve'; attempt: number; modelPath: string }
  | { do: 'launch'; attempt: number; process: ProcessSpec; saved: Saved }
  | { do: 'wait'; message: Extract<Fact, { type: 'due' | 'late' }>; delayMs: number }
  | { do: 'probe'; attempt: number; target: Target }
  | { do: 'measure'; attempt: number; target: Target; pid: number }
  /** Asks a ready engine for one token. */
  | { do: 'try'; attempt: number; target: Target }
  | { do: 'examine'; attempt: number; port: number | null; key: string }
  | { do: 'prove'; engine: string }
  | { do: 'refuse'; engine: string; reason: string }
  | { do: 'end' }
  | { do: 'wipe' }
  | { do: 'finish' }
  | { do: 'say'; event: Event }

/** Where an engine is asked, for which model, and with which key. */
export type Target = { engine: string; model: string; host: string; port: number; key: string }

export type Next = Step<State, Effect>

export const fresh = (spec: ShardSpec, attempt: number): Core => ({
  spec,
  attempt,
  budget: newBudget(engineLimits),
  restarts: 0,
  portsTried: 0,
})

export const core = ({ spec, attempt, budget, restarts, portsTried }: Core): Core => ({
  spec,
  attempt,
  budget,
  restarts,
  portsTried,
})

/** Only what was installed or adopted is started or watched, so there is one. */
export const engineOf = (setting: Setting, { spec }: State): Engine =>
  present(setting.engineOf(spec.engine), `the engine ${spec.engine}`)

export const targetOf = (
  { host }: Setting,
  { engine, model, key }: ShardSpec,
  port: number,
): Target => ({ engine, model, host, port, key })

export const same = (one: ShardSpec, other: ShardSpec): boolean =>
  JSON.stringify(one) === JSON.stringify(other)

/** The process's keeper answers "stopped" whatever it keeps. */
export const stop = (state: State, next: ShardSpec | null): Next => [
  { phase: 'stopping', ...core(state), attempt: state.attempt + 1, next },
  [{ do: 'end' }],
]

export const install = (core: Core): Next => [
  { phase: 'installing', ...core, progress: null },
  [{ do: 'ensure', attempt: core.attempt, engine: core.spec.engine }],
]

/** What a start needs could not be had; nothing runs yet. */
export function setback(state: State, { code, message }: Failure, at: number): Next {
  const { phase } = state
  if (phase !== 'installing' && phase !== 'fetching' && phase !== 'starting') return stay(state)
  return catalogue[code].retry === 'no' ? fail(state, message) : crashed(state, message, at)
}

export function crashed(state: State, reason: string, at: number): Next {
  const grant = spend(state.budget, at)
  if (grant === null) return fail(state, reason)
  const attempt = state.attempt + 1
  const { budget, delayMs } = grant
  return [
    { phase: 'restarting', ...core(state), attempt, budget, restarts: state.restarts + 1, reason },
    [{ do: 'wait', message: { type: 'due', attempt }, delayMs }],
  ]
}

export const fail = (state: State, reason: string): Next =>
  stay({ phase: 'failed', ...core(state), attempt: state.attempt + 1, reason })
