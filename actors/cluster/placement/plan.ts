// What to do next: from what is wanted and what was last seen to writes, commands and reasons. Level-triggered: the same view gives the same plan.
import { engineByName } from '../../../engines/index.ts'
import type { CatalogModel } from '../catalog/protocol.ts'
import { fetchHeader, learn } from './headers.ts'
import { command, stopStrangers } from './orders.ts'
import type { ReplicaRecord } from './protocol.ts'
import {
  goneMs,
  isBlind,
  needInWords,
  type Place,
  type Placeable,
  placeOn,
  silenceMs,
  size,
} from './room.ts'
import { keepModels, keepRoute } from './routes.ts'
import {
  isDue,
  note,
  type Plan,
  remembered,
  retryDelayMs,
  routeKey,
  shardOf,
  type View,
} from './view.ts'

/** Pure. Commands concern only what is stored already. */
export function decide(view: View): Plan {
  const plan: Plan = {
    writes: [],
    orders: [],
    learnt: [],
    asked: remembered(view),
    reasons: new Map(),
  }
  const planned = new Map(view.records)
  const ids = [...view.ids]
  for (const record of view.records.values()) {
    if (record.state === 'draining') continue
    const isWanted = view.models.get(record.model)?.createdAt === record.generation
    if (!isWanted) drain(plan, planned, record, 'its model was removed')
    else if (!view.members.nodes.has(record.node))
      drain(plan, planned, record, 'its node is unknown')
  }
  for (const model of view.models.values()) place(view, plan, planned, ids, model)
  for (const record of view.records.values()) keepRoute(view, plan, record)
  keepModels(view, plan)
  for (const record of planned.values()) {
    if (view.records.get(record.replica) === record) command(view, plan, record)
  }
  stopStrangers(view, plan)
  return plan
}

function place(
  view: View,
  plan: Plan,
  planned: Map<string, ReplicaRecord>,
  ids: string[],
  model: CatalogModel,
): void {
  const { name, replicas: wanted } = model.definition
  const placed = [...planned.values()].filter((it) => it.model === name && it.state === 'placed')
  const failed = placed.filter((it) => shardOf(view, it)?.phase === 'failed')
  const lost = placed.filter((it) => isLost(view, it))
  const good = placed.filter((it) => !failed.includes(it) && !lost.includes(it))
  for (const excess of inOrderOfUse(view, good).slice(wanted)) {
    drain(plan, planned, excess, `${wanted} of ${placed.length} replicas are wanted`)
  }
  if (good.length >= wanted) {
    for (const record of failed) drain(plan, planned, record, 'others took its place')
    return
  }
  const header = model.header ?? learn(view, plan, model)
  if (header === null) {
    plan.reasons.set(name, fetchHeader(view, plan, model))
    return
  }
  const engine = engineByName(model.definition.engine)
  if (engine === undefined) {
    plan.reasons.set(name, `this version knows no engine "${model.definition.engine}"`)
    return
  }
  const it: Placeable = { ...model, engine, header }
  const move = `move.${name}`
  const mayMove = failed.length === 0 || isDue(plan, view.now, move, retryDelayMs)
  const avoid = failed.map((it) => it.node)
  let missing = wanted - good.length
  for (; missing > 0 && mayMove; missing -= 1) {
    const { best, places } = choose(view, planned, it, avoid)
    if (best === null) break
    const id = ids.shift()
    if (id === undefined) return // the next decision places the rest
    const record = recordFor(it, best, places, id)
    planned.set(record.replica, record)
    plan.writes.push({ bucket: 'state', replica: record.replica, value: record })
    const replaced = failed.shift()
    if (replaced === undefined) continue
    note(plan, view.now, move, record.node)
    drain(plan, planned, replaced, `it failed, and ${record.replica} takes its place`)
  }
  if (missing === 0) return
  plan.reasons.set(name, reason(view, planned, it, { avoid, failed, missing }))
}

type Choice = { best: Extract<Place, { fits: true }> | null; places: Place[] }

/** The fitting node with the fewest replicas of the model, then the most memory left. */
function choose(
  view: View,
  planned: ReadonlyMap<string, ReplicaRecord>,
  model: Placeable,
  avoid: readonly string[],
): Choice {
  const all = [...planned.values()]
  const { members, now } = view
  const sameOn = (node: string) =>
    all.filter((it) => it.node === node && it.model === model.definition.name).length
  const places = [...members.nodes.values()]
    .filter((it) => !avoid.includes(it.node))
    .map((it) => {
      const records = all.filter((record) => record.node === it.node)
      return placeOn(it, { members, now, records }, model)
    })
  const best = places
    .filter((it) => it.fits)
    .sort(
      (a, b) =>
        sameOn(a.node) - sameOn(b.node) || b.leftBytes - a.leftBytes || (a.node < b.node ? -1 : 1),
    )[0]
  return { best: best ?? null, places }
}

function recordFor(
  model: Placeable,
  best: Extract<Place, { fits: true }>,
  places: readonly Place[],
  id: string,
): ReplicaRecord {
  const { name } = model.definition
  const others = places
    .filter((it) => it.node !== best.node)
    .map((it) => (it.fits ? `node ${it.node} would have ${size(it.leftBytes)} left` : it.why))
  const why = [`node ${best.node} fits and has ${size(best.leftBytes)} left with it`, ...others]
  return {
    replica: `${name.replace(/[^A-Za-z0-9_-]+/g, '-').slice(0, 40)}-${id}`,
    model: name,
    generation: model.createdAt,
    node: best.node,
    engine: model.engine.name,
    profile: best.profile,
    state: 'placed',
    why: why.join('; ').slice(0, 2000),
  }
}

function reason(
  view: View,
  planned: ReadonlyMap<string, ReplicaRecord>,
  model: Placeable,
  { avoid, failed, missing }: { avoid: string[]; failed: ReplicaRecord[]; missing: number },
): string {
  const { definition, engine, header } = model
  const { best, places } = choose(view, planned, model, avoid)
  const troubles = failed.map((it) => {
    const text = shardOf(view, it)?.reason ?? 'no reason was reported'
    return `replica ${it.replica} failed on node ${it.node}: ${text}`
  })
  const without = places.flatMap((it) => (it.fits ? [] : [it.why])).slice(0, 12)
  const where = () => {
    if (best !== null) return ['another node is tried after a pause']
    if (view.members.nodes.size === 0) return ['no node has registered']
    if (without.length === 0) return ['there is no other node, so it is tried there again']
    return [needInWords(engine, definition, header), ...without]
  }
  const blind = isBlind(view.members, view.now)
    ? ['most nodes are silent, so nothing is moved']
    : []
  const what = `${missing} of ${definition.replicas} replicas are missing`
  return [what, ...troubles, ...where(), ...blind].join('; ')
}

/** Serving ones first, then the older: whoever comes last goes first. */
function inOrderOfUse(view: View, records: readonly ReplicaRecord[]): ReplicaRecord[] {
  const order = [...view.records.keys()]
  const rank = (it: ReplicaRecord) => (view.routes.has(routeKey(it.replica)) ? 0 : 1)
  return [...records].sort(
    (a, b) => rank(a) - rank(b) || order.indexOf(a.replica) - order.indexOf(b.replica),
  )
}

function drain(
  plan: Plan,
  planned: Map<string, ReplicaRecord>,
  record: ReplicaRecord,
  why: string,
): void {
  const next: ReplicaRecord = { ...record, state: 'draining', why }
  planned.set(next.replica, next)
  plan.writes.push({ bucket: 'state', replica: next.replica, value: next })
}

/** Its node is gone for so long that it is placed elsewhere; it is kept in case the node comes back. */
function isLost({ members, now }: View, record: ReplicaRecord): boolean {
  const member = members.nodes.get(record.node)
  if (member === undefined || isBlind(members, now)) return false
  return silenceMs(member, members, now) >= goneMs
}
