// Commands to nodes: each says again what is not yet obeyed, and a stop comes after the route is gone.
import type { ShardStatus } from '../../../transport/contract/node.ts'
import type { ReplicaRecord } from './protocol.ts'
import { isDue, note, type Plan, retryDelayMs, routeKey, shardOf, type View } from './view.ts'

/** A command is sent again after so long while reports do not show that it was obeyed. */
const askAgainMs = 5000

/** Starts what is placed and stops what is drained, until the node's reports show it. */
export function command(view: View, plan: Plan, record: ReplicaRecord): void {
  const { replica } = record
  const member = view.members.nodes.get(record.node)
  const shard = shardOf(view, record)
  if (record.state === 'draining') {
    if (view.routes.has(routeKey(replica))) return
    if (shard !== null) stop(view, plan, record.node, shard)
    const isOver = shard === null && (member === undefined || member.heard !== null)
    if (isOver) plan.writes.push({ bucket: 'state', replica, value: null })
    return
  }
  if (member?.heard == null || (shard !== null && shard.phase !== 'failed')) return
  const artifact = view.models.get(record.model)?.definition.artifact
  if (artifact === undefined) return
  const key = `start.${replica}`
  if (!isDue(plan, view.now, key, shard === null ? () => askAgainMs : retryDelayMs)) return
  note(plan, view.now, key, record.node)
  const { model, engine, profile, node } = record
  plan.orders.push({
    type: 'start',
    node,
    boot: member.boot,
    replica,
    model,
    engine,
    artifact,
    profile,
  })
}

/** Shards that no record knows: all records are loaded, so nobody wants them. */
export function stopStrangers(view: View, plan: Plan): void {
  for (const { node, heard } of view.members.nodes.values()) {
    for (const shard of heard?.shards ?? []) {
      const isKnown = view.records.get(shard.replica)?.node === node
      const route = view.routes.get(routeKey(shard.replica))?.value
      const isRouted = route !== undefined && 'node' in route && route.node === node
      if (!isKnown && !isRouted) stop(view, plan, node, shard)
    }
  }
}

function stop(view: View, plan: Plan, node: string, { replica, phase }: ShardStatus): void {
  const boot = view.members.nodes.get(node)?.boot
  const key = `stop.${replica}.${node}`
  if (boot === undefined || phase === 'stopping' || !isDue(plan, view.now, key, () => askAgainMs))
    return
  note(plan, view.now, key, node)
  plan.orders.push({ type: 'stop', node, boot, replica })
}
