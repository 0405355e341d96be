// Keeps the routing table: routes and models as mirrored, replicas to leave alone for a while, and ghosts to look after.
import type { ZodType } from 'zod'
import { type Step, stay } from '../../../kernel/step.ts'
import { problemOf } from '../../../transport/contract/problem.ts'
import {
  type Route,
  type RoutedModel,
  routedModelSchema,
  routeSchema,
} from '../../../transport/contract/route.ts'
import { goneGhosts } from './ghosts.ts'
import type { Ghost, Message, TableSnapshot, TryEnd } from './protocol.ts'

/** Failures in a row, how often it was left alone since its last answer, and until when. */
type Breaker = { failures: number; opened: number; until: number }

export type State = {
  listed: boolean
  revision: number
  routes: ReadonlyMap<string, Route>
  models: ReadonlyMap<string, RoutedModel>
  breakers: ReadonlyMap<string, Breaker>
  /** Replicas whose ghosts are being looked after. */
  haunted: ReadonlySet<string>
}

export type Effect =
  | { do: 'publish'; snapshot: TableSnapshot }
  | { do: 'recall' }
  | { do: 'check'; route: Route }
  | { do: 'judge'; replica: string; askedAt: number; busy: number | null }
  | { do: 'wait'; delayMs: number; message: Message }
  | { do: 'end-ghosts'; replica: string; ghosts: readonly Ghost[] | 'all' }
  | { do: 'report'; revision: number; replicas: ReadonlySet<string> }
  | { do: 'forget'; replica: string }
  | { do: 'warn'; key: string; problem: string }

/** Between reports: the leader takes 5 s of silence for a sign. */
const reportMs = 1000
/** Between looks at an engine that has ghosts; each costs it one small page. */
const checkMs = 500
/** So many failures in a row make a replica one to avoid. */
const failuresToAvoid = 3
/** Doubled each time: short for one that was just started again, long for one that stays away. */
const avoidMs = { min: 1000, max: 30_000 }

export const init = (): Step<State, Effect> => [
  {
    listed: false,
    revision: 0,
    routes: new Map(),
    models: new Map(),
    breakers: new Map(),
    haunted: new Set(),
  },
  [{ do: 'recall' }, { do: 'wait', delayMs: reportMs, message: { type: 'report-due' } }],
]

export function transition(state: State, message: Message): Step<State, Effect> {
  switch (message.type) {
    case 'listed':
      return listed(state, message.entries, message.revision)
    case 'put':
      return put(state, message.entry)
    case 'deleted':
      return deleted(state, message.key, message.revision)
    case 'ended':
      return ended(state, message.tries)
    case 'haunted':
      return haunt(state, message.replicas)
    case 'check-due':
      return checkDue(state, message.replica)
    case 'counted': {
      const { replica, askedAt, busy } = message
      return [state, [{ do: 'judge', replica, askedAt, busy }]]
    }
    case 'checked': {
      const { replica, ghosts } = message.check
      const gone = goneGhosts(message.check)
      const end: Effect = { do: 'end-ghosts', replica, ghosts: gone }
      if (gone.length < ghosts.length) return [state, [end, checkAgain(replica)]]
      return [{ ...state, haunted: without(state.haunted, replica) }, [end]]
    }
    case 'report-due':
      return [
        state,
        [
          { do: 'report', revision: state.revision, replicas: new Set(state.routes.keys()) },
          { do: 'wait', delayMs: reportMs, message },
        ],
      ]
  }
}

function listed(
  state: State,
  entries: ReadonlyMap<string, { value: unknown }>,
  revision: number,
): Step<State, Effect> {
  const routes = new Map<string, Route>()
  const models = new Map<string, RoutedModel>()
  const effects: Effect[] = []
  for (const [key, { value }] of entries) {
    const problem = store(routes, models, key, value)
    if (problem) effects.push({ do: 'warn', key, problem })
  }
  for (const replica of state.routes.keys()) {
    if (!routes.has(replica)) effects.push({ do: 'forget', replica })
  }
  return publish({ ...state, listed: true, revision, routes, models }, effects)
}

function put(
  state: State,
  { key, value, revision }: { key: string; value: unknown; revision: number },
): Step<State, Effect> {
  const routes = new Map(state.routes)
  const models = new Map(state.models)
  const problem = store(routes, models, key, value)
  const next = { ...fresh(state, key, revision), routes, models }
  return publish(next, problem ? [{ do: 'warn', key, problem }] : [])
}

function deleted(state: State, key: string, revision: number): Step<State, Effect> {
  const replica = replicaIn(key)
  const routes = new Map(state.routes)
  if (replica !== null) routes.delete(replica)
  const models = new Map(state.models)
  models.delete(key)
  const next = { ...fresh(state, key, revision), routes, models }
  return publish(next, replica === null ? [] : [{ do: 'forget', replica }])
}

/** What was learned of a replica counts no longer once the leader says something new of it. */
function fresh(state: State, key: string, revision: number): State {
  const breakers = new Map(state.breakers)
  const replica = replicaIn(key)
  if (replica !== null) breakers.delete(replica)
  return { ...state, breakers, revision: Math.max(state.revision, revision) }
}

const replicaIn = (key: string): string | null =>
  key.startsWith('route.') ? key.slice('route.'.length) : null

/** Puts an entry where it belongs; answers what is wrong with it. Entries of other kinds are others' affair. */
function store(
  routes: Map<string, Route>,
  models: Map<string, RoutedModel>,
  key: string,
  value: unknown,
): string | null {
  const replica = replicaIn(key)
  if (replica !== null) return check(routeSchema, value, (route) => routes.set(replica, route))
  if (key.startsWith('model.')) {
    return check(routedModelSchema, value, (model) => models.set(key, model))
  }
  return null
}

function check<T>(schema: ZodType<T>, value: unknown, take: (it: T) => void): string | null {
  const parsed = schema.safeParse(value)
  if (!parsed.success) return problemOf(parsed.error)
  take(parsed.data)
  return null
}

function ended(state: State, tries: readonly TryEnd[]): Step<State, Effect> {
  const breakers = new Map(state.breakers)
  for (const end of tries) breakers.set(end.replica, judge(breakers.get(end.replica), end))
  for (const [replica, { failures, opened }] of breakers) {
    if (failures + opened === 0 || !state.routes.has(replica)) breakers.delete(replica)
  }
  const ghosts = tries.filter((it) => it.ghost).map((it) => it.replica)
  const [next, effects] = haunt({ ...state, breakers }, ghosts)
  const same = breakers.size === 0 && state.breakers.size === 0
  return same ? [next, effects] : publish(next, effects)
}

function judge(breaker: Breaker | undefined, { how, at }: TryEnd): Breaker {
  const known = breaker ?? { failures: 0, opened: 0, until: 0 }
  if (how === 'answered') return { failures: 0, opened: 0, until: 0 }
  if (how === 'open' || known.until > at) return known // failures while it is avoided say nothing new
  const failures = known.failures + 1
  if (how === 'failed' && failures < failuresToAvoid) return { ...known, failures }
  const delayMs = Math.min(avoidMs.max, avoidMs.min * 2 ** known.opened)
  return { failures: 0, opened: known.opened + 1, until: at + delayMs }
}

function haunt(state: State, replicas: readonly string[]): Step<State, Effect> {
  const fresh = [...new Set(replicas)].filter((it) => !state.haunted.has(it))
  if (fresh.length === 0) return stay(state)
  const haunted = new Set([...state.haunted, ...fresh])
  return [{ ...state, haunted }, fresh.map(checkAgain)]
}

function checkDue(state: State, replica: string): Step<State, Effect> {
  const route = state.routes.get(replica)
  if (route) return [state, [{ do: 'check', route }]]
  // its engine is gone, and what it worked on with it
  const haunted = without(state.haunted, replica)
  return [{ ...state, haunted }, [{ do: 'end-ghosts', replica, ghosts: 'all' }]]
}

const checkAgain = (replica: string): Effect => ({
  do: 'wait',
  delayMs: checkMs,
  message: { type: 'check-due', replica },
})

/** Nothing before the whole table was told: after a crash the one published before is better than none. */
function publish(state: State, effects: readonly Effect[]): Step<State, Effect> {
  if (!state.listed) return [state, effects]
  const ready = new Map<string, Route[]>()
  for (const route of state.routes.values()) {
    if (route.state !== 'ready') continue
    const routes = ready.get(route.model)
    if (routes) routes.push(route)
    else ready.set(route.model, [route])
  }
  const snapshot: TableSnapshot = {
    listed: true,
    revision: state.revision,
    models: new Map([...state.models.values()].map((it) => [it.model, it])),
    ready,
    avoided: new Map([...state.breakers].map(([replica, { until }]) => [replica, until])),
  }
  return [state, [{ do: 'publish', snapshot }, ...effects]]
}

const without = (set: ReadonlySet<string>, gone: string): ReadonlySet<string> =>
  new Set([...set].filter((it) => it !== gone))
