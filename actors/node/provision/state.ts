// Decides what is installed: one install of an engine at a time, shared by all that ask, never a build that was refused.
import type { InstallForm } from '../../../engines/engine.ts'
import { engineByName, engines } from '../../../engines/index.ts'
import { present } from '../../../kernel/assert.ts'
import { type Failure, failure } from '../../../kernel/errors.ts'
import { type Step, stay } from '../../../kernel/step.ts'
import type { Install, Progress } from '../../../transport/contract/node.ts'
import type { Command, Event, Message, ProvisionEvent, Ready, Verdict } from './protocol.ts'

type Ensure = Extract<Command, { type: 'ensure' }>
type Asker = Ensure['replyTo']
type Job = { attempt: number; askers: readonly Asker[]; progress: Progress | null }

export type State =
  | { phase: 'recalling'; asked: readonly Ensure[] }
  | {
      phase: 'open'
      /** How many installs were begun. */
      attempts: number
      verdicts: readonly Verdict[]
      jobs: ReadonlyMap<string, Job>
      failures: ReadonlyMap<string, Failure>
    }
type Open = Extract<State, { phase: 'open' }>

export type InstallRequest = {
  engine: string
  /** Tried in order. */
  forms: readonly InstallForm[]
  /** Builds that are not to be used. */
  refused: readonly Verdict[]
}

export type Effect =
  | { do: 'recall' }
  | ({ do: 'install'; attempt: number } & InstallRequest)
  | { do: 'remember'; verdicts: readonly Verdict[] }
  | { do: 'tell'; to: Asker; event: ProvisionEvent }
  | { do: 'say'; event: Event }

export const init = (): Step<State, Effect> => [
  { phase: 'recalling', asked: [] },
  [{ do: 'recall' }],
]

export const transition = (state: State, message: Message): Step<State, Effect> =>
  state.phase === 'recalling' ? recalling(state.asked, message) : open(state, message)

function recalling(asked: readonly Ensure[], message: Message): Step<State, Effect> {
  switch (message.type) {
    case 'ensure':
      return [{ phase: 'recalling', asked: [...asked, message] }, []]
    case 'unrecalled':
      throw new Error(message.reason) // a crash: tried again within the budget, since a refused build must not be run
    case 'recalled': {
      const { verdicts } = message
      let state: Open = {
        phase: 'open',
        attempts: 0,
        verdicts,
        jobs: new Map(),
        failures: new Map(),
      }
      const effects: Effect[] = [say(state)]
      for (const command of asked) {
        const [next, more] = ensure(state, command)
        state = next
        effects.push(...more)
      }
      return [state, effects]
    }
    default:
      return [{ phase: 'recalling', asked }, []] // of an incarnation before
  }
}

function open(state: Open, message: Message): Step<State, Effect> {
  switch (message.type) {
    case 'ensure':
      return ensure(state, message)
    case 'proved':
      return judge(state, message.engine, (it) => ({ ...it, state: 'proven' }))
    case 'refused':
      return judge(state, message.engine, (it) => ({
        ...it,
        state: 'refused',
        reason: message.reason,
      }))
    case 'recalled':
    case 'unrecalled':
      return stay(state)
    case 'progressed': {
      const job = jobOf(state, message)
      if (!job) return stay(state)
      const { engine, progress } = message
      const next = { ...state, jobs: new Map(state.jobs).set(engine, { ...job, progress }) }
      return [next, [...tellAll(job, { type: 'progress', progress }), say(next)]]
    }
    case 'installed': {
      const job = jobOf(state, message)
      return job ? installed(state, job, message) : stay(state)
    }
    case 'missed': {
      const job = jobOf(state, message)
      if (!job) return stay(state)
      const { engine, failure } = message
      const failures = new Map(state.failures).set(engine, failure)
      const next = { ...state, jobs: without(state.jobs, engine), failures }
      return [next, [...tellAll(job, { type: 'failed', failure }), say(next)]]
    }
  }
}

/** The job that a fact belongs to; none if the fact is about an install that was replaced. */
function jobOf(state: Open, fact: { engine: string; attempt: number }): Job | undefined {
  const job = state.jobs.get(fact.engine)
  return job?.attempt === fact.attempt ? job : undefined
}

function ensure(state: Open, { engine, replyTo }: Ensure): readonly [Open, readonly Effect[]] {
  const known = engineByName(engine)
  if (!known) {
    const details = { engine, known: engines.map(({ name }) => name).join(', ') }
    const event: ProvisionEvent = {
      type: 'failed',
      failure: failure('LLMGW_ENGINE_UNKNOWN', details),
    }
    return [state, [{ do: 'tell', to: replyTo, event }]]
  }
  const running = state.jobs.get(engine)
  if (!running) return begin(state, engine, [replyTo])
  const jobs = new Map(state.jobs).set(engine, {
    ...running,
    askers: [...running.askers, replyTo],
  })
  const { progress } = running
  const told: Effect[] = progress
    ? [{ do: 'tell', to: replyTo, event: { type: 'progress', progress } }]
    : []
  return [{ ...state, jobs }, told]
}

function begin(
  state: Open,
  engine: string,
  askers: readonly Asker[],
): readonly [Open, readonly Effect[]] {
  const attempt = state.attempts + 1
  const jobs = new Map(state.jobs).set(engine, { attempt, askers, progress: null })
  const forms = present(engineByName(engine), engine).installs
  const refused = state.verdicts.filter((it) => it.engine === engine && it.state === 'refused')
  return [
    { ...state, attempts: attempt, jobs },
    [{ do: 'install', engine, attempt, forms, refused }],
  ]
}

function installed(
  state: Open,
  job: Job,
  { engine, ready }: { engine: string; ready: Ready },
): Step<State, Effect> {
  const { version, argv, note } = ready
  const before = state.verdicts.find((it) => it.engine === engine && it.version === version)
  if (before?.state === 'refused') return begin(state, engine, job.askers) // refused meanwhile
  const verdict: Verdict = { engine, version, state: before?.state ?? 'unproven', reason: note }
  const next: Open = {
    ...state,
    verdicts: [...state.verdicts.filter((it) => it !== before), verdict],
    jobs: without(state.jobs, engine),
    failures: without(state.failures, engine),
  }
  const told = tellAll(job, { type: 'ready', engine, version, argv })
  return [next, [{ do: 'remember', verdicts: next.verdicts }, ...told, say(next)]]
}

/** Changes the verdict on the build in use; where none is known there is nothing to judge. */
function judge(
  state: Open,
  engine: string,
  change: (verdict: Verdict) => Verdict,
): Step<State, Effect> {
  const used = state.verdicts.findLast((it) => it.engine === engine && it.state !== 'refused')
  if (!used) return stay(state)
  const changed = change(used)
  if (changed.state === used.state) return stay(state)
  const verdicts = state.verdicts.map((it) => (it === used ? changed : it))
  const next = { ...state, verdicts }
  return [next, [{ do: 'remember', verdicts }, say(next)]]
}

const without = <V>(map: ReadonlyMap<string, V>, key: string): ReadonlyMap<string, V> =>
  new Map([...map].filter(([it]) => it !== key))

const tellAll = (job: Job, event: ProvisionEvent): Effect[] =>
  job.askers.map((to) => ({ do: 'tell', to, event }))

/** The whole list: builds that are known, installs that have begun to do something, and those that failed. */
function say({ verdicts, jobs, failures }: Open): Effect {
  const installs: Install[] = verdicts.map((verdict) => ({ ...verdict, progress: null }))
  for (const [engine, { progress }] of jobs) {
    if (progress) installs.push({ ...unnamed(engine), state: 'installing', progress })
  }
  for (const [engine, { message }] of failures) {
    if (!jobs.get(engine)?.progress) {
      installs.push({ ...unnamed(engine), state: 'failed', reason: message })
    }
  }
  return { do: 'say', event: { type: 'changed', installs } }
}

/** An install whose build is not known yet. */
const unnamed = (engine: string) => ({ engine, version: '', reason: null, progress: null })
