// What a decision is made from and what comes of it, and the memory of what was asked of nodes.
import type { ShardStatus } from '../../../transport/contract/node.ts'
import type { Models } from '../catalog/protocol.ts'
import type { Members } from '../members/protocol.ts'
import type { Learnt, Order, ReplicaRecord, Routed, Write } from './protocol.ts'

/** A command that was sent, so that it is not sent again at once. */
export type Asked = { at: number; count: number; node: string }

/** All that a decision is made from. */
export type View = {
  models: Models
  /** As stored. */
  records: ReadonlyMap<string, ReplicaRecord>
  /** As stored, by key. */
  routes: ReadonlyMap<string, Routed>
  members: Members
  asked: ReadonlyMap<string, Asked>
  /** Monotonic. */
  now: number
  /** Fresh and random, one for each new replica; as many replicas are placed at once at most. */
  ids: readonly string[]
}

export type Plan = {
  /** To be stored in this order, before anything is decided anew. */
  writes: Write[]
  orders: Order[]
  learnt: Learnt[]
  asked: Map<string, Asked>
  /** Why a model has fewer working replicas than wanted. */
  reasons: Map<string, string>
}

/** A failed replica is tried again, or moved, at once; the next time after this, then twice as long each time. */
const firstRetryMs = 10_000
/** A failed replica is tried again at least this often: what was wrong may have been mended. */
const longestRetryMs = 600_000
/** What was asked so long ago is forgotten; well above the longest of the delays that it paces. */
const askedForgottenMs = 1_200_000

/** What works is tried at once the next time it fails. */
export function remembered({ asked, members, now }: View): Map<string, Asked> {
  const ready = [...members.nodes.values()]
    .flatMap((it) => it.heard?.shards ?? [])
    .filter((it) => it.phase === 'ready')
    .flatMap((it) => [`start.${it.replica}`, `move.${it.model}`])
  return new Map(
    [...asked].filter(([key, it]) => now - it.at < askedForgottenMs && !ready.includes(key)),
  )
}

export function note(plan: Plan, now: number, key: string, node: string): void {
  plan.asked.set(key, { at: now, node, count: (plan.asked.get(key)?.count ?? 0) + 1 })
}

export const isDue = (
  plan: Plan,
  now: number,
  key: string,
  delayMs: (count: number) => number,
): boolean => {
  const before = plan.asked.get(key)
  return before === undefined || now - before.at >= delayMs(before.count)
}

export const retryDelayMs = (count: number): number =>
  Math.min(firstRetryMs * 2 ** (count - 1), longestRetryMs)

/** What the replica's node last said of it; null if it did not name it. */
export const shardOf = (
  { members }: Pick<View, 'members'>,
  record: ReplicaRecord,
): ShardStatus | null =>
  members.nodes.get(record.node)?.heard?.shards.find((it) => it.replica === record.replica) ?? null

export const routeKey = (replica: string): string => `route.${replica}`
