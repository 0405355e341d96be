// What routers are told: a route for each shard that is ready, drained before it goes, and the models' names.
import { toToken } from '../../../transport/contract/names.ts'
import type { ShardStatus } from '../../../transport/contract/node.ts'
import type { Route } from '../../../transport/contract/route.ts'
import type { ReplicaRecord, Routed } from './protocol.ts'
import { quietMs } from './room.ts'
import { type Plan, routeKey, shardOf, type View } from './view.ts'

/** Running requests of a draining replica may take so long. */
const drainMs = 30_000

/** Phases in which nothing answers at a shard's address; `looking` may find its engine at work. */
const downPhases: readonly ShardStatus['phase'][] = [
  'installing',
  'fetching',
  'starting',
  'loading',
  'restarting',
  'stopping',
  'failed',
]

const modelKey = (model: string): string => `model.${toToken(model)}`

/** Silence of a node changes no route: routers find out by trying. */
export function keepRoute(view: View, plan: Plan, record: ReplicaRecord): void {
  const key = routeKey(record.replica)
  const routed = view.routes.get(key)
  const shard = shardOf(view, record)
  if (routed !== undefined && 'replica' in routed.value) {
    const isDown = shard !== null && downPhases.includes(shard.phase)
    if (isDown || isDrained(view, record, routed, routed.value)) {
      plan.writes.push({ bucket: 'route', key, value: null })
      return
    }
    if (record.state === 'draining') {
      if (routed.value.state === 'ready') {
        plan.writes.push({ bucket: 'route', key, value: { ...routed.value, state: 'draining' } })
      }
      return
    }
  }
  if (record.state === 'draining' || shard?.phase !== 'ready' || shard.port === null) return
  const { replica, model, node, engine, profile } = record
  const { host, port } = shard
  const route: Route = {
    replica,
    model,
    node,
    engine,
    host,
    port,
    slots: profile.slots,
    state: 'ready',
  }
  if (!isEqual(routed?.value, route)) plan.writes.push({ bucket: 'route', key, value: route })
}

/** No router sends to it any more and none has a request there, or their time is over. */
function isDrained(
  { members, now }: View,
  record: ReplicaRecord,
  routed: Routed,
  route: Route,
): boolean {
  if (record.state !== 'draining' || route.state !== 'draining') return false
  if (now - routed.at >= drainMs) return true
  // a leader that has just begun does not know yet which routers there are
  if (now - members.since < quietMs) return false
  return [...members.routers.values()].every(
    (it) => it.revision >= routed.revision && (it.holds[record.replica] ?? 0) === 0,
  )
}

/** Names of models, and routes that nobody answers for. */
export function keepModels(view: View, plan: Plan): void {
  const wanted = new Map(
    [...view.models.values()].map(({ definition: { name }, createdAt }) => [
      modelKey(name),
      { model: name, created: Math.floor(createdAt / 1000) },
    ]),
  )
  for (const [key, value] of wanted) {
    if (!isEqual(view.routes.get(key)?.value, value))
      plan.writes.push({ bucket: 'route', key, value })
  }
  for (const [key, { value }] of view.routes) {
    const isStale = 'replica' in value ? !view.records.has(value.replica) : !wanted.has(key)
    if (isStale) plan.writes.push({ bucket: 'route', key, value: null })
  }
}

/** Both made here or read by a schema, so their fields stand in one order. */
const isEqual = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)
