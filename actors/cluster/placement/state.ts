// The actor around the plan: gathers what is seen, decides on every change and each second, and waits until its writes are stored.
import { present } from '../../../kernel/assert.ts'
import { type Failure, failure } from '../../../kernel/errors.ts'
import { type Step, stay } from '../../../kernel/step.ts'
import type { Models } from '../catalog/protocol.ts'
import type { Members } from '../members/protocol.ts'
import { answers, modelAnswers, type Scene } from './answers.ts'
import { decide } from './plan.ts'
import type {
  Leader,
  Learnt,
  Look,
  Message,
  Order,
  ReplicaRecord,
  Routed,
  Write,
} from './protocol.ts'
import type { Asked } from './view.ts'

type Seen = { leader: Leader; models: Models | null; members: Members | null }
type Stored = { records: ReadonlyMap<string, ReplicaRecord>; routes: ReadonlyMap<string, Routed> }
type Timer = { attempt: number; isSoon: boolean }

export type State =
  | ({ phase: 'loading' } & Seen)
  | ({ phase: 'idle' | 'writing' } & Seen &
      Stored & {
        asked: ReadonlyMap<string, Asked>
        reasons: ReadonlyMap<string, string>
        timer: Timer
      })
type Ready = Exclude<State, { phase: 'loading' }>
type Of<T extends Message['type']> = Extract<Message, { type: T }>

type Reply<A> = (outcome: { ok: true; value: A } | { ok: false; error: Failure }) => void
export type Effect =
  /** Read records and routes: `loaded` or `unloaded`. */
  | { do: 'load' }
  /** `wake` after a while. */
  | { do: 'wait'; delayMs: number; attempt: number }
  /** `due` at once, with the time and fresh ids. */
  | { do: 'draw'; attempt: number }
  /** All in order: `stored` or `unstored`. */
  | { do: 'write'; writes: readonly Write[] }
  | { do: 'command'; order: Order }
  | { do: 'learn'; learnt: Learnt }
  | {
      do: 'logs'
      node: string
      boot: string
      request: Of<'logs'>['request']
      replyTo: Of<'logs'>['replyTo']
    }
  | { do: 'answer'; value: unknown; replyTo: Reply<never> }
  | { do: 'refuse'; failure: Failure; replyTo: Reply<never> }

/** Without any change a decision is made this often: time itself changes what is right. */
const tickMs = 1000
/** Changes that come close together are decided on at once. */
const soonMs = 50

export const init = (leader: Leader): Step<State, Effect> => [
  { phase: 'loading', leader, models: null, members: null },
  [{ do: 'load' }],
]

export function transition(state: State, message: Message): Step<State, Effect> {
  switch (message.type) {
    case 'models':
      return changed({ ...state, models: message.models })
    case 'members':
      return changed({ ...state, members: message.members })
    case 'unloaded':
    case 'unstored':
      // a crash: what is stored is read anew within the restart budget
      throw new Error(message.reason)
    case 'loaded':
      return loaded(state, message)
    case 'look':
      return look(state, message)
    case 'logs':
      return logs(state, message)
    default:
  }
  return state.phase === 'loading' ? stay(state) : ready(state, message)
}

function ready(state: Ready, message: Of<'wake' | 'due' | 'stored'>): Step<State, Effect> {
  switch (message.type) {
    case 'wake':
      return message.attempt === state.timer.attempt
        ? [state, [{ do: 'draw', attempt: message.attempt }]]
        : stay(state)
    case 'due':
      return message.attempt === state.timer.attempt ? due(state, message) : stay(state)
    case 'stored':
      return wait({ ...state, ...withWrites(state, message), phase: 'idle' }, 0)
  }
}

function changed(state: State): Step<State, Effect> {
  return state.phase !== 'idle' || state.timer.isSoon ? stay(state) : wait(state, soonMs)
}

function loaded(state: State, { at, records, routes }: Of<'loaded'>): Step<State, Effect> {
  const { leader, models, members } = state
  const ready: Ready = {
    phase: 'idle',
    leader,
    models,
    members,
    records: new Map(records.map((it) => [it.replica, it])),
    routes: new Map(routes.map(({ key, value, revision }) => [key, { value, revision, at }])),
    asked: new Map(),
    reasons: new Map(),
    timer: { attempt: 0, isSoon: false },
  }
  return wait(ready, 0)
}

function due(state: Ready, { at: now, ids }: Of<'due'>): Step<State, Effect> {
  const { models, members, records, routes } = state
  if (state.phase === 'writing') return stay(state)
  if (models === null || members === null) return wait(state, tickMs)
  const { writes, orders, learnt, asked, reasons } = decide({
    models,
    members,
    records,
    routes,
    asked: state.asked,
    now,
    ids,
  })
  const effects: Effect[] = [
    ...orders.map((order) => ({ do: 'command', order }) as const),
    ...learnt.map((it) => ({ do: 'learn', learnt: it }) as const),
  ]
  const next: Ready = { ...state, asked, reasons }
  if (writes.length > 0)
    return [{ ...next, phase: 'writing' }, [...effects, { do: 'write', writes }]]
  const [waiting, waits] = wait(next, tickMs)
  return [waiting, [...effects, ...waits]]
}

function withWrites(state: Ready, { at, writes, revisions }: Of<'stored'>): Stored {
  const records = new Map(state.records)
  const routes = new Map(state.routes)
  for (const [index, write] of writes.entries()) {
    if (write.bucket === 'state') {
      if (write.value === null) records.delete(write.replica)
      else records.set(write.replica, write.value)
    } else if (write.value === null) routes.delete(write.key)
    else
      routes.set(write.key, {
        value: write.value,
        revision: present(revisions[index], 'a revision'),
        at,
      })
  }
  return { records, routes }
}

function look(state: State, message: Look): Step<State, Effect> {
  const { replyTo } = message
  if (state.phase === 'loading' || state.models === null || state.members === null) {
    return [state, [{ do: 'refuse', failure: failure('LLMGW_NO_LEADER'), replyTo }]]
  }
  const { leader, models, members, records, routes, reasons } = state
  const scene: Scene = { leader, models, members, records, routes, reasons, now: message.at }
  if (message.verb !== 'models-show' && message.verb !== 'why') {
    return [state, [{ do: 'answer', value: answers[message.verb](scene), replyTo }]]
  }
  const { model: name } = message.request
  const model = models.get(name)
  return model === undefined
    ? [state, [{ do: 'refuse', failure: failure('LLMGW_MODEL_UNKNOWN', { model: name }), replyTo }]]
    : [state, [{ do: 'answer', value: modelAnswers[message.verb](scene, model), replyTo }]]
}

function logs(state: State, { request, replyTo }: Of<'logs'>): Step<State, Effect> {
  const { replica } = request
  const record = state.phase === 'loading' ? undefined : state.records.get(replica)
  if (record === undefined) {
    const why =
      state.phase === 'loading'
        ? failure('LLMGW_NO_LEADER')
        : failure('LLMGW_REPLICA_UNKNOWN', { replica })
    return [state, [{ do: 'refuse', failure: why, replyTo }]]
  }
  const { node } = record
  const boot = state.members?.nodes.get(node)?.boot
  return boot === undefined
    ? [state, [{ do: 'refuse', failure: failure('LLMGW_NODE_UNKNOWN', { node }), replyTo }]]
    : [state, [{ do: 'logs', node, boot, request, replyTo }]]
}

function wait(state: Ready, delayMs: number): Step<Ready, Effect> {
  const attempt = state.timer.attempt + 1
  return [
    { ...state, timer: { attempt, isSoon: delayMs < tickMs } },
    [{ do: 'wait', delayMs, attempt }],
  ]
}
