// Decides how one replica's engine is found again, installed, started, watched, restarted and ended.
// Longer than most: what each phase makes of a message is read against the other phases.
import { assertNever } from '../../kernel/assert.ts'
import { stay } from '../../kernel/step.ts'
import type { Event as ProcessEvent } from '../process/protocol.ts'
import { diagnose } from './diagnosis.ts'
import { paceAfter } from './pace.ts'
import {
  core,
  crashed,
  type Effect,
  engineOf,
  fail,
  fresh,
  install,
  type Next,
  type Setting,
  type State,
  same,
  setback,
  stop,
  targetOf,
  type Up,
} from './phases.ts'
import { processOf } from './plan.ts'
import type { Fact, Message, Saved, ShardSpec } from './protocol.ts'

/** Between probes of an engine that loads. */
const probeEveryMs = 200
/** Between looks at a ready engine. */
const measureEveryMs = 1000
/** Looks in a row that a ready engine may leave unanswered; each waits two seconds at most. */
const missesAllowed = 30
/** Ports in a row that others may have taken in the moment between choice and start. */
const portTries = 5

export const init = (spec: ShardSpec): Next => [
  { phase: 'looking', ...fresh(spec, 1), saved: null },
  [{ do: 'find' }],
]

export function transition(setting: Setting, state: State, message: Message): Next {
  if ('attempt' in message && message.attempt !== state.attempt) return stay(state)
  switch (message.type) {
    case 'start':
      return started(state, message.spec)
    case 'stop':
      return state.phase === 'stopping' ? stay({ ...state, next: null }) : stop(state, null)
    case 'recalled':
      return state.phase === 'looking' ? stay({ ...state, saved: message.saved }) : stay(state)
    case 'process':
      return processSaid(setting, state, message.event)
    case 'engine':
      return engineSaid(state, message)
    case 'file':
      return fileSaid(state, message)
    case 'reserved':
      return reserved(setting, state, message)
    case 'setback':
      return setback(state, message.failure, message.at)
    case 'due':
      return due(setting, state)
    case 'late':
      return state.phase === 'loading' ? fall(state, 'did not get ready in time') : stay(state)
    case 'probed':
      return probed(setting, state, message)
    case 'measured':
      return measured(setting, state, message)
    case 'tried':
      return tried(state, message)
    case 'examined':
      return examined(setting, state, message)
    case 'wiped':
      return wiped(state)
    default:
      return assertNever(message)
  }
}

/** 1. After a stop it waits for the end. 2. Another definition replaces. 3. A failed one is tried anew. 4. Else it is said twice. */
function started(state: State, spec: ShardSpec): Next {
  if (state.phase === 'stopping') return stay({ ...state, next: spec })
  if (!same(state.spec, spec)) return stop(state, spec)
  return state.phase === 'failed' ? install(fresh(spec, state.attempt + 1)) : stay(state)
}

function processSaid(setting: Setting, state: State, event: ProcessEvent): Next {
  switch (event.type) {
    case 'absent':
      return state.phase === 'looking' ? install(core(state)) : stay(state)
    case 'running':
      if (state.phase === 'looking') return adopt(setting, state, event.pid)
      if (state.phase !== 'starting' || state.port === null) return stay(state)
      return load(setting, state, {
        pid: event.pid,
        port: state.port,
        version: state.version,
        fileBytes: state.file.sizeBytes,
        adopted: false,
      })
    case 'failed':
      return lost(state, event)
    case 'stopped':
      if (state.phase === 'falling') return examine(state)
      if (state.phase !== 'stopping') return stay(state)
      if (state.next === null) return [state, [{ do: 'wipe' }]]
      return install(fresh(state.next, state.attempt + 1))
    case 'restarting':
      return stay(state) // never said by a keeper whose budget is nothing
    default:
      return assertNever(event)
  }
}

function lost(state: State, { exit, reason }: Extract<ProcessEvent, { type: 'failed' }>): Next {
  if (state.phase !== 'starting' && state.phase !== 'loading' && state.phase !== 'ready') {
    return stay(state)
  }
  const { port, version } = state
  const loading = state.phase !== 'ready'
  const loss = { exit, text: `The engine ${reason}.`, loading, stranger: false }
  return examine({ phase: 'falling', ...core(state), loss, port, version })
}

/** Ended and started anew is one 1. whose port is not known since nothing was saved, 2. of another definition, 3. of an engine that this version does not know. Others are kept. */
function adopt(setting: Setting, state: Extract<State, { phase: 'looking' }>, pid: number): Next {
  const { saved, spec } = state
  const known = setting.engineOf(spec.engine) !== undefined
  if (saved === null || !same(saved.spec, spec) || !known) return stop(state, spec)
  const { port, engineVersion: version, fileBytes } = saved
  return load(setting, state, { pid, port, version, fileBytes, adopted: true })
}

function engineSaid(state: State, { event, at }: Extract<Fact, { type: 'engine' }>): Next {
  if (state.phase !== 'installing') return stay(state)
  switch (event.type) {
    case 'progress':
      return stay({ ...state, progress: event.progress })
    case 'failed':
      return setback(state, event.failure, at)
    case 'ready':
      return [
        {
          phase: 'fetching',
          ...core(state),
          progress: null,
          argv: event.argv,
          version: event.version,
        },
        [{ do: 'fetch', attempt: state.attempt, artifact: state.spec.artifact }],
      ]
    default:
      return assertNever(event)
  }
}

function fileSaid(state: State, { event, at }: Extract<Fact, { type: 'file' }>): Next {
  if (state.phase !== 'fetching') return stay(state)
  switch (event.type) {
    case 'progress':
      return stay({ ...state, progress: event.progress })
    case 'failed':
      return setback(state, event.failure, at)
    case 'done': {
      const { argv, version } = state
      const file = { path: event.file.path, sizeBytes: event.file.sizeBytes }
      return [
        { phase: 'starting', ...core(state), argv, version, file, port: null },
        [{ do: 'reserve', attempt: state.attempt, modelPath: file.path }],
      ]
    }
    default:
      return assertNever(event)
  }
}

function reserved(
  setting: Setting,
  state: State,
  { place }: Extract<Fact, { type: 'reserved' }>,
): Next {
  if (state.phase !== 'starting') return stay(state)
  const { spec, attempt, argv, file, version } = state
  const engine = engineOf(setting, state)
  const { host } = setting
  const process = processOf({ engine, spec, argv, modelPath: file.path, host, place })
  const saved: Saved = {
    version: 1,
    spec,
    port: place.port,
    engineVersion: version,
    fileBytes: file.sizeBytes,
  }
  return [{ ...state, port: place.port }, [{ do: 'launch', attempt, process, saved }]]
}

function load(setting: Setting, state: State, up: Up & { adopted: boolean }): Next {
  const { attempt } = state
  const delayMs = engineOf(setting, state).startWithinMs(up.fileBytes)
  return [
    { phase: 'loading', ...core(state), ...up },
    [
      { do: 'wait', message: { type: 'late', attempt }, delayMs },
      { do: 'probe', attempt, target: targetOf(setting, state.spec, up.port) },
    ],
  ]
}

function due(setting: Setting, state: State): Next {
  const { attempt, spec } = state
  if (state.phase === 'restarting') return install({ ...core(state), portsTried: 0 })
  if (state.phase !== 'loading' && state.phase !== 'ready') return stay(state)
  const target = targetOf(setting, spec, state.port)
  if (state.phase === 'loading') return [state, [{ do: 'probe', attempt, target }]]
  return [state, [{ do: 'measure', attempt, target, pid: state.pid }]]
}

function probed(
  setting: Setting,
  state: State,
  { readiness }: Extract<Fact, { type: 'probed' }>,
): Next {
  if (state.phase !== 'loading') return stay(state)
  const { attempt, pid, port, version, fileBytes } = state
  switch (readiness) {
    case 'starting':
    case 'loading':
      return [state, [again(attempt, probeEveryMs)]]
    case 'stranger':
      return fall(state, 'did not get its port: somebody else answers there', true)
    case 'ready': {
      const target = targetOf(setting, state.spec, port)
      const up = { pid, port, version, fileBytes }
      const watched = { running: null, waiting: null, compute: null, misses: 0, pace: null }
      return [
        { phase: 'ready', ...core(state), portsTried: 0, ...up, ...watched },
        [
          { do: 'prove', engine: state.spec.engine },
          { do: 'measure', attempt, target, pid },
        ],
      ]
    }
    default:
      return assertNever(readiness)
  }
}

/**
 * Unknown is null: what an engine does not tell keeps no older figure. It is ended 1. where it leaves too many looks
 * unanswered, 2. where its progress stood for too long, then no token came, and still nothing moves at the look after that.
 */
function measured(
  setting: Setting,
  state: State,
  { measure, at }: Extract<Fact, { type: 'measured' }>,
): Next {
  if (state.phase !== 'ready') return stay(state)
  const { answered, running, waiting, compute } = measure
  const misses = answered ? 0 : state.misses + 1
  if (misses > missesAllowed) return fall(state, 'runs but does not answer its health check')
  const pace = paceAfter(state.pace, measure, at)
  const next = { ...state, running, waiting, compute, misses, pace }
  const look = again(state.attempt, measureEveryMs)
  if (pace === null) return [next, [look]]
  const stoodMs = at - pace.at
  if (pace.probe === 'failed') {
    const stood = `has made no progress with its requests for ${Math.round(stoodMs / 1000)} s`
    return fall(state, `${stood} and then not one token when it was asked for one`)
  }
  const { fileBytes, port, spec } = state
  const allowedMs = engineOf(setting, state).stalledAfterMs(fileBytes, spec.profile.cores)
  if (pace.probe === 'asked' || stoodMs < allowedMs) return [next, [look]]
  const attempt: Effect = {
    do: 'try',
    attempt: state.attempt,
    target: targetOf(setting, spec, port),
  }
  return [{ ...next, pace: { ...pace, probe: 'asked' } }, [attempt, look]]
}

/** What got on meanwhile needs no token. A token counts as progress: the next one is not asked for before as long again. */
function tried(state: State, { token, at }: Extract<Fact, { type: 'tried' }>): Next {
  if (state.phase !== 'ready' || state.pace?.probe !== 'asked') return stay(state)
  const { pace } = state
  return stay({
    ...state,
    pace: token ? { ...pace, at, probe: 'none' } : { ...pace, probe: 'failed' },
  })
}

const again = (attempt: number, delayMs: number): Effect => ({
  do: 'wait',
  message: { type: 'due', attempt },
  delayMs,
})

/** Ends an engine that runs but is of no use; then looks why. */
function fall(
  state: Extract<State, { phase: 'loading' | 'ready' }>,
  why: string,
  stranger = false,
): Next {
  const loading = state.phase === 'loading'
  const loss = { exit: null, text: `The engine ${why}.`, loading, stranger }
  const { port, version } = state
  return [{ phase: 'falling', ...core(state), loss, port, version }, [{ do: 'end' }]]
}

const examine = (state: Extract<State, { phase: 'falling' }>): Next => [
  state,
  [{ do: 'examine', attempt: state.attempt, port: state.port, key: state.spec.key }],
]

function examined(
  setting: Setting,
  state: State,
  message: Extract<Fact, { type: 'examined' }>,
): Next {
  if (state.phase !== 'falling') return stay(state)
  const engine = engineOf(setting, state)
  const { loss, version } = state
  const diagnosis = diagnose(engine, loss, { ...message, version })
  switch (diagnosis.verdict) {
    case 'port-taken': {
      if (state.portsTried >= portTries)
        return crashed(state, 'Every port that was tried is taken.', message.at)
      // Not a crash: the parts are asked for again, which is quick, and another port is chosen.
      return install({
        ...core(state),
        attempt: state.attempt + 1,
        portsTried: state.portsTried + 1,
      })
    }
    case 'wrong-cpu': {
      const [next, effects] = fail(state, diagnosis.reason)
      const refuse: Effect = { do: 'refuse', engine: engine.name, reason: diagnosis.reason }
      return [next, [...effects, refuse]]
    }
    case 'permanent':
      return fail(state, diagnosis.reason)
    case 'crash':
      return crashed(state, diagnosis.reason, message.at)
  }
}

function wiped(state: State): Next {
  if (state.phase !== 'stopping') return stay(state)
  return state.next === null
    ? [state, [{ do: 'finish' }]]
    : install(fresh(state.next, state.attempt + 1))
}
