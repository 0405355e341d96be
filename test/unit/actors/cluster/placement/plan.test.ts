// The plan: examples for each rule, then properties over random worlds.
import fc from 'fast-check'
import t from 'tap'
import { marginBytes, reservedBytes } from '../../../../../actors/cluster/placement/room.ts'
import { failure } from '../../../../../kernel/errors.ts'
import type { Route } from '../../../../../transport/contract/route.ts'
import { modelOf } from '../../../../support/models.ts'
import {
  catalogModel,
  heardOf,
  MiB,
  memberOf,
  PlacementWorld,
} from '../../../../support/placement-world.ts'
import { GiB, shardOf, smallHeader } from '../../../../support/simulated-node.ts'

/** A world of nodes with so much memory each. */
function world(
  memory: Record<string, number>,
  ...models: ReturnType<typeof catalogModel>[]
): PlacementWorld {
  const it = new PlacementWorld()
  for (const [node, bytes] of Object.entries(memory)) {
    const load = { memoryAvailableBytes: bytes, diskFreeBytes: 99 * GiB, diskTotalBytes: 99 * GiB }
    it.nodes.set(node, memberOf(node, heardOf({ load }), bytes))
  }
  for (const model of models) it.models.set(model.definition.name, model)
  return it
}
const routeOf = (it: PlacementWorld, replica = '') =>
  it.routes.get(`route.${replica || ([...it.records.keys()][0] ?? '')}`)?.value as Route | undefined
const needs = (memoryBytes: number, more = {}) => ({ profile: { memoryBytes }, ...more })
const nodesOf = (it: PlacementWorld) => [...it.records.values()].map((record) => record.node).sort()
const reason = (it: PlacementWorld, model = 'small') => it.decide().reasons.get(model) ?? ''

t.test('a replica is recorded, then started, then routed', async (t) => {
  const it = world({ n1: 8 * GiB }, catalogModel())
  const first = it.decide()
  t.match(first.writes, [
    { bucket: 'state', value: { node: 'n1', state: 'placed', why: /node n1 fits/ } },
    { bucket: 'route' },
  ])
  t.same(first.orders, [], 'nothing is commanded before its record is stored')
  const [start] = it.settle()
  t.match(start, { type: 'start', node: 'n1', boot: 'boot-n1', model: 'small', engine: 'llamacpp' })
  t.equal(routeOf(it), undefined)
  it.tick([start as never])
  it.run(2)
  t.match(routeOf(it), {
    model: 'small',
    node: 'n1',
    host: '127.0.0.1',
    state: 'ready',
    slots: Number,
  })
  t.same(it.routes.get('model.small')?.value, { model: 'small', created: 1 })
})

t.test('a start that is not obeyed is said again after 5 s', async (t) => {
  const it = world({ n1: 8 * GiB }, catalogModel())
  t.equal(it.settle().length, 1)
  it.tick([])
  t.equal(it.settle().length, 0)
  for (let second = 0; second < 4; second += 1) it.tick([])
  t.equal(it.settle().length, 1)
})

t.test('replicas are spread, then the node with the most memory left is taken (CL5)', async (t) => {
  const it = world(
    { n1: 8 * GiB, n2: 6 * GiB, n3: 4 * GiB },
    catalogModel('small', { replicas: 4 }),
  )
  it.run(3)
  t.same(nodesOf(it), ['n1', 'n1', 'n2', 'n3'])
  const equal = world({ n2: 8 * GiB, n3: 8 * GiB, n1: 8 * GiB }, catalogModel())
  equal.run(1)
  t.same(nodesOf(equal), ['n1'])
})

t.test('nothing is placed beyond what is free, and the reason has the numbers (CL5)', async (t) => {
  const it = world({ n1: 2 * GiB, n2: GiB }, catalogModel('small', needs(3 * GiB)))
  it.run(1)
  t.equal(it.records.size, 0)
  t.match(
    reason(it),
    '1 of 1 replicas are missing; needs 3.0 GiB as its definition says; node n1 has 1.8 GiB free; node n2 has 768 MiB free',
  )
  const byHeader = world({ n1: 300 * MiB }, catalogModel('small'))
  t.match(
    reason(byHeader),
    /needs \d+ MiB: 95 MiB for weights, \d+ MiB for \d+ × \d+ tokens of context and buffers; node n1 has 44 MiB free/,
  )
  t.match(reason(world({}, catalogModel())), /no node has registered/)
})

t.test('a model whose engine this version does not know hurts no other', async (t) => {
  const it = world({ n1: 8 * GiB }, catalogModel('old', { engine: 'gone' }), catalogModel())
  t.match(reason(it, 'old'), 'this version knows no engine "gone"')
  it.run(3)
  t.same(
    [...it.records.values()].map((record) => record.model),
    ['small'],
  )
})

t.test('memory of replicas that are placed but not loaded is not given twice', async (t) => {
  const it = world(
    { n1: 4 * GiB },
    catalogModel('a', needs(2 * GiB)),
    catalogModel('b', needs(2 * GiB)),
  )
  it.run(1)
  t.same(
    [...it.records.values()].map((record) => record.model),
    ['a'],
  )
  it.run(5)
  t.match(reason(it, 'b'), /node n1 has 1.8 GiB free/)
})

t.test(
  'more replicas than ids are placed by the next decisions, without a false reason',
  async (t) => {
    const it = world({ n1: 8 * GiB }, catalogModel('small', needs(100 * MiB, { replicas: 6 })))
    t.equal(it.decide().reasons.size, 0)
    it.settle()
    t.equal(it.records.size, 6)
  },
)

t.test('a model without a header is read on one node, chosen by its disk', async (t) => {
  const it = world({ n1: 8 * GiB, n2: 8 * GiB }, catalogModel('small', { header: null }))
  it.nodes.set(
    'n2',
    memberOf(
      'n2',
      heardOf({
        load: { memoryAvailableBytes: 1, diskFreeBytes: 200 * GiB, diskTotalBytes: 200 * GiB },
      }),
    ),
  )
  const orders = it.settle()
  t.match(orders, [{ type: 'fetch', node: 'n2', model: 'small' }])
  t.equal(reason(it), "reading the model's header on node n2")
  t.same(it.settle(), [], 'once')
  it.tick(orders)
  const plan = it.decide()
  t.match(plan.learnt, [{ model: 'small', header: smallHeader }])
  it.run(3)
  t.equal(it.records.size, 1)
})

t.test(
  'a file that is broken everywhere is the reason, and is tried again each minute',
  async (t) => {
    const model = catalogModel('small', { header: null })
    const it = world({ n1: 8 * GiB }, model)
    it.tick(it.settle())
    const broken = failure('LLMGW_GGUF_INVALID', { path: '/m', problem: 'it is cut off' })
    const spoil = () => {
      for (const [node, member] of it.nodes) {
        const files = (member.heard?.files ?? []).map((file) => ({
          ...file,
          header: null,
          failure: broken,
        }))
        it.nodes.set(node, { ...member, heard: { ...heardOf(member.heard ?? {}), files } })
      }
    }
    spoil()
    it.models.set('small', model)
    t.match(
      reason(it),
      /the model's file cannot be used; node n1: The file \/m is not a GGUF model/,
    )
    t.same(it.settle(), [])
    it.nodes.set('n2', memberOf('n2', heardOf({ at: it.now })))
    t.match(it.settle(), [{ type: 'fetch', node: 'n2' }], 'another node is tried at once')
    it.nodes.delete('n2')
    for (let second = 0; second < 60; second += 1) it.tick([])
    t.match(it.settle(), [{ type: 'fetch', node: 'n1' }])
  },
)

t.test('a header needs a node that is heard and has room on its disk', async (t) => {
  const artifact = { ...modelOf().artifact, sizeBytes: 5 * GiB }
  const model = catalogModel('small', { header: null, artifact })
  t.match(
    reason(world({}, model)),
    /reading the model's header: no node has registered \(5.0 GiB\)/,
  )
  const it = world({ n1: 8 * GiB }, model)
  it.nodes.set(
    'n1',
    memberOf(
      'n1',
      heardOf({ load: { memoryAvailableBytes: 1, diskFreeBytes: GiB, diskTotalBytes: GiB } }),
    ),
  )
  it.nodes.set('n2', memberOf('n2', null))
  const refused = {
    engine: 'llamacpp',
    version: '1',
    state: 'refused',
    reason: 'signal 4',
    progress: null,
  } as const
  it.nodes.set('n3', memberOf('n3', heardOf({ installs: [refused] })))
  t.match(
    reason(it),
    /no node that reports can run llamacpp and has the room on its disk \(5.0 GiB\)/,
  )
  const path = catalogModel('small', {
    header: null,
    artifact: { ...artifact, sources: [{ kind: 'path', path: '/m.gguf' }] },
  })
  it.models.set('small', path)
  t.match(
    it.settle(),
    [{ type: 'fetch', node: 'n1' }],
    'a file that is used where it lies takes none',
  )
})

t.test(
  'a node is not taken: never heard, silent, build refused, too few cores, no disk',
  async (t) => {
    const model = catalogModel('small', { profile: { cores: 4 } })
    const it = world({}, model)
    it.now = 6000
    const refused = {
      engine: 'llamacpp',
      version: '1',
      state: 'refused',
      reason: 'signal 4',
      progress: null,
    } as const
    const load = { memoryAvailableBytes: 8 * GiB, diskFreeBytes: MiB, diskTotalBytes: GiB }
    it.nodes.set('n1', memberOf('n1', null))
    it.nodes.set('n2', memberOf('n2', heardOf({ at: 0 })))
    it.nodes.set('n3', memberOf('n3', heardOf({ at: 6000, installs: [refused] })))
    it.nodes.set(
      'n4',
      memberOf('n4', heardOf({ at: 6000, installs: [{ ...refused, reason: null }] })),
    )
    const small = memberOf('n5', heardOf({ at: 6000 }))
    it.nodes.set('n5', {
      ...small,
      hardware: { ...small.hardware, cpu: { ...small.hardware.cpu, usable: 2 } },
    })
    it.nodes.set('n6', memberOf('n6', heardOf({ at: 6000, load })))
    const words = reason(it)
    for (const part of [
      'n1 has not reported yet',
      'n2 is silent for 6 s',
      'n3 cannot run llamacpp: signal 4',
      'n4 cannot run llamacpp: its build was refused',
      'n5 has 2 usable cores of 4',
      'n6 has 1 MiB of disk free of 351 MiB',
    ]) {
      t.match(words, part)
    }
  },
)

t.test(
  'silence of a node removes no route; after 60 s its replicas are placed elsewhere as well',
  async (t) => {
    const it = world({ n1: 8 * GiB, n2: 6 * GiB }, catalogModel())
    it.run(5)
    t.same(nodesOf(it), ['n1'])
    const [replica = ''] = it.records.keys()
    it.silent.add('n1')
    it.run(55)
    t.same(nodesOf(it), ['n1'])
    it.run(20)
    t.same(nodesOf(it), ['n1', 'n2'])
    t.equal(routeOf(it, replica)?.state, 'ready', 'routers find out by trying')
    it.silent.delete('n1')
    it.run(60)
    t.same(nodesOf(it), ['n1'], 'whoever came last goes when both are there')
    t.equal(routeOf(it, replica)?.state, 'ready')
  },
)

t.test('nothing is moved while more than half of the nodes are silent', async (t) => {
  const it = world(
    { n1: 8 * GiB, n2: 8 * GiB, n3: 8 * GiB },
    catalogModel('small', needs(GiB, { replicas: 3 })),
  )
  it.run(5)
  const before = new Map(it.records)
  it.silent.add('n1').add('n2')
  it.run(120)
  t.same(it.records, before)
  it.models.set('big', catalogModel('big', needs(99 * GiB)))
  t.match(reason(it, 'big'), /most nodes are silent, so nothing is moved/)
})

t.test('a failed replica is placed elsewhere, and drained once it is replaced', async (t) => {
  const it = world({ n1: 8 * GiB, n2: 6 * GiB }, catalogModel())
  it.broken.add('small n1')
  it.run(8)
  t.same(nodesOf(it), ['n2'])
  t.match([...it.routes.keys()].filter((key) => key.startsWith('route.')).length, 1)
  t.same(
    it.shards().map(({ node }) => node),
    ['n2'],
  )
})

t.test(
  'one that fails everywhere stays with its reason and is tried with growing delay',
  async (t) => {
    const it = world({ n1: 8 * GiB }, catalogModel())
    it.broken.add('small n1')
    it.run(4)
    t.match(
      reason(it),
      /failed on node n1: it broke; there is no other node, so it is tried there again/,
    )
    const starts: number[] = []
    for (let second = 0; second < 200; second += 1) {
      const orders = it.settle()
      if (orders.length > 0) starts.push(it.now / 1000)
      it.tick(orders)
    }
    const gaps = starts.slice(1).map((at, i) => at - (starts[i] ?? 0))
    t.ok(
      gaps.length >= 2 && gaps.every((gap, i) => gap >= 10 * 2 ** i),
      `gaps of ${gaps.join(', ')} s`,
    )
  },
)

t.test('a failed replica that is not wanted any more goes', async (t) => {
  const it = world(
    { n1: 3 * GiB, n2: 3 * GiB },
    catalogModel('small', needs(2 * GiB, { replicas: 2 })),
  )
  it.broken.add('small n2')
  it.run(4)
  t.same(nodesOf(it), ['n1', 'n2'])
  it.models.set('small', catalogModel('small', needs(2 * GiB)))
  it.run(8)
  t.same(nodesOf(it), ['n1'])
})

t.test('between two nodes that both fail it moves with growing delay', async (t) => {
  const it = world({ n1: 8 * GiB, n2: 8 * GiB }, catalogModel())
  it.broken.add('small n1').add('small n2')
  const moves: number[] = []
  let known = new Set<string>()
  for (let second = 0; second < 120; second += 1) {
    it.tick(it.settle())
    const now = new Set(it.records.keys())
    if ([...now].some((replica) => !known.has(replica))) moves.push(second)
    known = now
  }
  t.ok(moves.length >= 3 && moves.length <= 6, `moved at ${moves.join(', ')} s`)
  t.ok(
    [...it.plans].some((plan) =>
      /another node is tried after a pause/.test(plan.reasons.get('small') ?? ''),
    ),
  )
  const silentShard = world({ n1: 8 * GiB }, catalogModel())
  silentShard.run(3)
  const [member] = silentShard.nodes.values()
  const shards = (member?.heard?.shards ?? []).map((it) => ({
    ...it,
    phase: 'failed' as const,
    reason: null,
  }))
  silentShard.nodes.set('n1', memberOf('n1', heardOf({ at: silentShard.now, shards })))
  t.match(reason(silentShard), /no reason was reported/)
})

t.test('a removed model is drained before it is stopped', async (t) => {
  const it = world({ n1: 8 * GiB }, catalogModel())
  it.routers.set('r1', { router: 'r1', boot: 'b', pid: 1, holds: {}, revision: 0, at: 0 })
  it.run(4)
  const [replica = ''] = it.records.keys()
  const hold = (count: number) =>
    it.routers.set('r1', {
      router: 'r1',
      boot: 'b',
      pid: 1,
      holds: { [replica]: count },
      revision: it.revision,
      at: it.now,
    })
  hold(1)
  it.models.clear()
  t.same(it.settle(), [])
  t.match(routeOf(it, replica), { state: 'draining' })
  t.notOk(it.routes.has('model.small'))
  it.run(5)
  t.match(routeOf(it, replica), { state: 'draining' }, 'a request is running')
  hold(0)
  it.routers.set('r1', { router: 'r1', boot: 'b', pid: 1, holds: {}, revision: 0, at: it.now })
  t.same(it.settle(), [], 'the router has not seen it')
  hold(0)
  t.match(it.settle(), [{ type: 'stop', replica, node: 'n1', boot: 'boot-n1' }])
  t.same(it.settle(), [])
  it.run(7)
  t.equal(it.records.size + it.routes.size + it.shards().length, 0)
})

t.test(
  'a drain ends after 30 s at the latest, and not before a young leader knows the routers',
  async (t) => {
    const it = world({ n1: 8 * GiB }, catalogModel())
    it.run(4)
    const [replica = ''] = it.records.keys()
    it.routers.set('r1', {
      router: 'r1',
      boot: 'b',
      pid: 1,
      holds: { [replica]: 1 },
      revision: 1e9,
      at: 0,
    })
    it.models.clear()
    it.run(30)
    t.equal(routeOf(it, replica)?.state, 'draining')
    it.run(2)
    t.equal(routeOf(it, replica), undefined)

    const young = world({ n1: 8 * GiB }, catalogModel())
    young.run(4)
    young.models.clear()
    young.settle()
    t.equal(young.routes.size, 0)
    const { decide } = await import('../../../../../actors/cluster/placement/plan.ts')
    const again = world({ n1: 8 * GiB }, catalogModel())
    again.run(4)
    again.models.clear()
    const view = { ...again.view, members: { ...again.view.members, since: again.now } }
    const [record] = [...again.records.values()]
    const route = routeOf(again)
    if (record === undefined || route === undefined) throw new Error('nothing was placed')
    const records = new Map([[record.replica, { ...record, state: 'draining' as const }]])
    const routes = new Map([
      [
        `route.${record.replica}`,
        { value: { ...route, state: 'draining' as const }, revision: 1, at: again.now },
      ],
    ])
    t.same(decide({ ...view, records, routes }).writes, [])
  },
)

t.test('a shard that is down loses its route; one that is looked for keeps it', async (t) => {
  const it = world({ n1: 8 * GiB }, catalogModel())
  it.run(4)
  const set = (phase: 'looking' | 'restarting' | 'ready', port = 4000) => {
    for (const [node, member] of it.nodes) {
      const shards = (member.heard?.shards ?? []).map((shard) => ({ ...shard, phase, port }))
      it.nodes.set(node, { ...member, heard: { ...heardOf(member.heard ?? {}), shards } })
    }
    it.settle()
  }
  set('looking')
  t.equal(routeOf(it)?.state, 'ready')
  set('restarting')
  t.equal(routeOf(it), undefined)
  set('ready', 5000)
  t.equal(routeOf(it)?.port, 5000)
  set('ready', 5001)
  t.equal(routeOf(it)?.port, 5001, 'its new port')
})

t.test('a shard that no record knows is stopped, after its route if it has one', async (t) => {
  const it = world({ n1: 8 * GiB })
  const shards = [shardOf('stranger'), shardOf('going', { phase: 'stopping' })]
  it.nodes.set('n1', memberOf('n1', heardOf({ shards })))
  const route: Route = {
    replica: 'stranger',
    model: 'm',
    node: 'n1',
    engine: 'e',
    host: 'h',
    port: 1,
    slots: 1,
    state: 'ready',
  }
  it.routes.set('route.stranger', { value: route, revision: 1, at: 0 })
  const first = it.decide()
  t.match(first.writes, [{ bucket: 'route', key: 'route.stranger', value: null }])
  t.same(first.orders, [])
  t.match(it.settle(), [{ type: 'stop', replica: 'stranger' }])
})

t.test('a model that was removed and added again under its name is placed anew', async (t) => {
  const it = world({ n1: 8 * GiB }, catalogModel())
  it.run(4)
  const [old = ''] = it.records.keys()
  it.models.set('small', catalogModel('small', {}, 2000))
  it.run(12)
  t.equal(it.records.size, 1)
  t.notOk(it.records.has(old))
})

t.test('fewer replicas are wanted: the last and the unready go first', async (t) => {
  const it = world(
    { n1: 8 * GiB, n2: 8 * GiB, n3: 8 * GiB },
    catalogModel('small', needs(GiB, { replicas: 3 })),
  )
  it.run(5)
  const [first = '', second = ''] = it.records.keys()
  it.routes.delete(`route.${first}`)
  for (const [node, member] of it.nodes) {
    const shards = (member.heard?.shards ?? []).map((shard) =>
      shard.replica === first ? { ...shard, phase: 'loading' as const } : shard,
    )
    it.nodes.set(node, { ...member, heard: { ...heardOf(member.heard ?? {}), shards } })
  }
  it.models.set('small', catalogModel('small', needs(GiB, { replicas: 1 })))
  it.run(12)
  t.same([...it.records.keys()], [second])
})

t.test(
  'a record whose node is unknown is let go; one of a node not heard of yet is kept',
  async (t) => {
    const it = world({ n1: 8 * GiB, n2: 8 * GiB }, catalogModel())
    it.run(4)
    const [record] = it.records.values()
    it.nodes.set('n1', memberOf('n1', null))
    it.silent.add('n1')
    it.models.clear()
    it.run(2)
    t.equal(it.records.get(record?.replica ?? '')?.state, 'draining', 'its shard may be running')
    it.nodes.delete('n1')
    it.run(2)
    t.equal(it.records.size, 0)
    const lone = world({ n1: 8 * GiB, n2: 8 * GiB }, catalogModel())
    lone.run(4)
    lone.nodes.delete('n1')
    lone.run(40)
    t.same(nodesOf(lone), ['n2'])
  },
)

t.test('a shard that is ready without a port has no route', async (t) => {
  const it = world({ n1: 8 * GiB }, catalogModel())
  it.settle()
  const [replica = ''] = it.records.keys()
  it.nodes.set('n1', memberOf('n1', heardOf({ shards: [shardOf(replica, { port: null })] })))
  it.settle()
  t.equal(routeOf(it, replica), undefined)
})

// ── properties ──────────────────────────────────────────────────────────────

const name = fc.constantFrom('a', 'b', 'c')
const node = fc.constantFrom('n1', 'n2', 'n3')
type Event = (it: PlacementWorld) => void
const event: fc.Arbitrary<Event> = fc.oneof(
  fc
    .record({
      name,
      gib: fc.integer({ min: 1, max: 5 }),
      replicas: fc.integer({ min: 0, max: 3 }),
      headless: fc.boolean(),
    })
    .map(
      ({ name, gib, replicas, headless }): Event =>
        (it) =>
          it.models.set(
            name,
            catalogModel(
              name,
              {
                profile: { memoryBytes: gib * GiB },
                replicas,
                ...(headless ? { header: null } : {}),
              },
              it.models.get(name)?.createdAt ?? it.now,
            ),
          ),
    ),
  name.map(
    (it): Event =>
      (world) =>
        world.models.delete(it),
  ),
  node.map(
    (it): Event =>
      (world) =>
        world.silent.add(it),
  ),
  node.map(
    (it): Event =>
      (world) =>
        world.silent.delete(it),
  ),
  fc.tuple(name, node).map(
    ([name, node]): Event =>
      (it) =>
        it.broken.add(`${name} ${node}`),
  ),
  fc.constant((it: PlacementWorld) => it.broken.clear()),
  fc.nat(2).map(
    (count): Event =>
      (it) => {
        const holds = Object.fromEntries([...it.records.keys()].map((replica) => [replica, count]))
        it.routers.set('r1', {
          router: 'r1',
          boot: 'b',
          pid: 1,
          holds,
          revision: it.revision,
          at: it.now,
        })
      },
  ),
)

t.test(
  'whatever happens: memory is never given twice, plans come to rest, and a drain comes before a stop',
  async (t) => {
    let placed = 0
    fc.assert(
      fc.property(fc.array(fc.tuple(event, fc.nat(40)), { maxLength: 14 }), (events) => {
        const it = world({ n1: 8 * GiB, n2: 6 * GiB, n3: 4 * GiB })
        for (const [happen, seconds] of events) {
          happen(it)
          for (let second = 0; second <= seconds; second += 1) {
            const serving = it
              .shards()
              .filter(({ shard }) => shard.phase === 'ready')
              .map(({ shard }) => shard.replica)
              .filter((replica) => it.routes.has(`route.${replica}`))
            const orders = it.settle()
            const again = it.decide()
            if (again.writes.length + again.orders.length > 0)
              throw new Error('a settled plan had more to do')
            for (const order of orders) {
              if (order.type === 'fetch') continue
              const record = it.records.get(order.replica)
              if (order.type === 'start' && record?.state !== 'placed')
                throw new Error('started without a record')
              if (order.type === 'stop' && record?.state === 'placed')
                throw new Error('stopped what is wanted')
              if (order.type === 'stop' && it.routes.has(`route.${order.replica}`))
                throw new Error('stopped with a route')
              if (
                order.type === 'stop' &&
                serving.includes(order.replica) &&
                !it.drained.has(order.replica)
              )
                throw new Error('stopped without a drain')
            }
            for (const member of it.nodes.values()) {
              const records = [...it.records.values()].filter(
                (record) => record.node === member.node,
              )
              placed = Math.max(placed, records.length)
              if (
                records.length > 0 &&
                reservedBytes(records) > member.hardware.memoryBytes - marginBytes
              )
                throw new Error('memory was given twice')
            }
            it.tick(orders)
          }
        }
      }),
      { numRuns: 40 },
    )
    t.ok(placed > 0)
  },
)

t.test('when all is well again, what fits is ready and nothing else runs', async (t) => {
  const check = () =>
    fc.assert(
      fc.property(fc.array(fc.tuple(event, fc.nat(30)), { maxLength: 8 }), (events) => {
        const it = world({ n1: 8 * GiB, n2: 8 * GiB, n3: 8 * GiB })
        for (const [happen, seconds] of events) {
          happen(it)
          it.run(seconds)
        }
        it.silent.clear()
        it.broken.clear()
        it.routers.clear()
        it.models = new Map([['a', catalogModel('a', needs(GiB, { replicas: 2 }), it.now)]])
        it.run(150)
        const ready = [...it.routes.values()].filter(
          ({ value }) => 'state' in value && value.state === 'ready',
        )
        return it.records.size === 2 && ready.length === 2 && it.shards().length === 2
      }),
      { numRuns: 15 },
    )
  t.doesNotThrow(check)
})
