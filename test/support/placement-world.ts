// A cluster as placement sees it: what is stored, and nodes that obey, fail or fall silent.
import type { CatalogModel } from '../../actors/cluster/catalog/protocol.ts'
import type { Heard, Member, Members, RouterMember } from '../../actors/cluster/members/protocol.ts'
import { decide } from '../../actors/cluster/placement/plan.ts'
import type { ReplicaRecord, Routed, Write } from '../../actors/cluster/placement/protocol.ts'
import type { Asked, Plan, View } from '../../actors/cluster/placement/view.ts'
import { fileKey } from '../../actors/node/files/protocol.ts'
import type { ShardStatus } from '../../transport/contract/node.ts'
import { modelOf } from './models.ts'
import { GiB, hardwareOf, shardOf, smallHeader } from './simulated-node.ts'

export const MiB = 2 ** 20

export const catalogModel = (
  name = 'small',
  more: Parameters<typeof modelOf>[1] = {},
  createdAt = 1000,
): CatalogModel => {
  const definition = modelOf(name, more)
  return { definition, createdAt, header: definition.header ?? null }
}

export const heardOf = (more: Partial<Heard> = {}): Heard => ({
  seq: 1,
  at: 0,
  load: { memoryAvailableBytes: 8 * GiB, diskFreeBytes: 99 * GiB, diskTotalBytes: 99 * GiB },
  shards: [],
  files: [],
  installs: [],
  ...more,
})

export const memberOf = (
  node: string,
  heard: Heard | null = heardOf(),
  memoryBytes = 8 * GiB,
): Member => ({
  node,
  boot: `boot-${node}`,
  pid: 1,
  version: '0',
  address: '127.0.0.1',
  hardware: hardwareOf(memoryBytes),
  heard,
})

export const membersOf = (
  nodes: readonly Member[],
  routers: readonly RouterMember[] = [],
  since = -100_000,
): Members => ({
  nodes: new Map(nodes.map((it) => [it.node, it])),
  routers: new Map(routers.map((it) => [it.router, it])),
  since,
})

/** Time passes by whole seconds; each node reports at each unless it is silent. */
export class PlacementWorld {
  now = 0
  revision = 0
  models = new Map<string, CatalogModel>()
  records = new Map<string, ReplicaRecord>()
  routes = new Map<string, Routed>()
  nodes = new Map<string, Member>()
  routers = new Map<string, RouterMember>()
  asked: ReadonlyMap<string, Asked> = new Map()
  silent = new Set<string>()
  /** Shards of these models fail on these nodes. */
  broken = new Set<string>()
  /** What was drained at some time. */
  readonly drained = new Set<string>()
  readonly plans: Plan[] = []
  #ids = 0

  get view(): View {
    const { models, records, routes, asked, now } = this
    const members: Members = { nodes: this.nodes, routers: this.routers, since: -100_000 }
    return { models, records, routes, members, asked, now, ids: this.#fresh() }
  }

  /** Decides once and stores what came of it. */
  decide(): Plan {
    const plan = decide(this.view)
    this.plans.push(plan)
    this.asked = plan.asked
    for (const write of plan.writes) this.#store(write)
    for (const { model, header } of plan.learnt) {
      const before = this.models.get(model)
      if (before) this.models.set(model, { ...before, header })
    }
    return plan
  }

  /** Decides until nothing more is to be stored; all orders. */
  settle(): Plan['orders'] {
    const orders: Plan['orders'] = []
    for (let round = 0; round < 20; round += 1) {
      const plan = this.decide()
      orders.push(...plan.orders)
      if (plan.writes.length === 0 && plan.learnt.length === 0) return orders
    }
    throw new Error('the plan never comes to rest')
  }

  /** A second: nodes obey and report, routers have seen all. */
  tick(orders: Plan['orders']): void {
    this.now += 1000
    for (const member of this.nodes.values()) this.#report(member, orders)
    for (const [name, it] of this.routers)
      this.routers.set(name, { ...it, at: this.now, revision: this.revision })
  }

  /** Seconds of deciding and obeying. */
  run(seconds: number): void {
    for (let second = 0; second < seconds; second += 1) this.tick(this.settle())
  }

  shards(): { node: string; shard: ShardStatus }[] {
    return [...this.nodes.values()].flatMap(({ node, heard }) =>
      (heard?.shards ?? []).map((shard) => ({ node, shard })),
    )
  }

  #report(member: Member, orders: Plan['orders']): void {
    const { node } = member
    if (this.silent.has(node)) return
    const before = member.heard ?? heardOf()
    const shards = new Map(before.shards.map((it) => [it.replica, this.#grown(node, it)]))
    const files = [...before.files]
    for (const order of orders.filter((it) => it.node === node)) {
      if (order.type === 'stop') shards.delete(order.replica)
      if (order.type === 'start') {
        const { replica, model } = order
        shards.set(replica, shardOf(replica, { model, phase: 'loading', port: 4000 + this.#ids }))
      }
      if (order.type === 'fetch') {
        files.push({
          key: fileKey(order.artifact),
          sizeBytes: 1,
          sha256: null,
          header: smallHeader,
          failure: null,
        })
      }
    }
    const takenBytes = [...shards.values()]
      .filter((it) => it.phase === 'ready')
      .reduce((sum, it) => sum + (this.records.get(it.replica)?.profile.memoryBytes ?? 0), 0)
    const load = { ...before.load, memoryAvailableBytes: member.hardware.memoryBytes - takenBytes }
    const heard = {
      ...before,
      seq: before.seq + 1,
      at: this.now,
      load,
      files,
      shards: [...shards.values()],
    }
    this.nodes.set(node, { ...member, heard })
  }

  #grown(node: string, shard: ShardStatus): ShardStatus {
    if (this.broken.has(`${shard.model} ${node}`))
      return { ...shard, phase: 'failed', reason: 'it broke' }
    return shard.phase === 'loading' ? { ...shard, phase: 'ready' } : shard
  }

  #store(write: Write): void {
    this.revision += 1
    if (write.bucket === 'state') {
      if (write.value === null) this.records.delete(write.replica)
      else this.records.set(write.replica, write.value)
    } else if (write.value === null) this.routes.delete(write.key)
    else {
      this.routes.set(write.key, { value: write.value, revision: this.revision, at: this.now })
      if ('state' in write.value && write.value.state === 'draining')
        this.drained.add(write.value.replica)
    }
  }

  #fresh(): string[] {
    return Array.from({ length: 4 }, () => {
      this.#ids += 1
      return `id${this.#ids}`
    })
  }
}
