// The leading actors together, over a store in memory and simulated nodes.
import t from 'tap'
import type { z } from 'zod'
import { startLeading } from '../../../../bin/leading.ts'
import { createLogger } from '../../../../kernel/log.ts'
import { startSystem } from '../../../../kernel/system.ts'
import type { Bus } from '../../../../transport/bus.ts'
import {
  type AdminAnswer,
  type AdminVerb,
  adminVerbs,
} from '../../../../transport/contract/admin.ts'
import {
  revokedSchema,
  routedKeySchema,
  routeSchema,
} from '../../../../transport/contract/route.ts'
import { subjects } from '../../../../transport/contract/subjects.ts'
import { settle } from '../../../support/actors.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { memoryWire } from '../../../support/memory-bus.ts'
import {
  type Fault,
  failingStore,
  type MemoryBuckets,
  memoryStore,
  type StoreOperation,
} from '../../../support/memory-store.ts'
import { modelOf } from '../../../support/models.ts'
import { simulateNode } from '../../../support/simulated-node.ts'

const timing = { lengthMs: 15_000, guardMs: 1500, renewMs: 2500 }

/** A cluster in memory, on a clock that only the test moves. */
function cluster() {
  const clock = manualClock()
  const wire = memoryWire()
  const buckets: MemoryBuckets = {}
  const admin = wire.join('admin')
  const pass = async (ms: number) => {
    for (let leftMs = ms; leftMs > 0; leftMs -= 50) {
      clock.advance(50)
      await settle(10)
    }
  }
  const faults: Partial<Record<StoreOperation, Fault | undefined>> = {}
  /** A candidate; `isFaulty`: its store fails as `faults` says. */
  const lead = async (name: string, isFaulty = true) => {
    const system = startSystem({ clock })
    const sound = memoryStore(buckets)
    const store = isFaulty ? failingStore(sound, (operation) => faults[operation]) : sound
    const { fresh } = await store.prepare()
    const bus = wire.join(name)
    const log = createLogger({ name, level: 'silent' })
    const engineSecret = new Uint8Array(32)
    await startLeading({
      name,
      timing,
      freshStore: fresh,
      engineSecret,
      system,
      bus,
      store,
      clock,
      log,
    })
    return { system, bus }
  }
  const ask = async <V extends AdminVerb>(verb: V, body: unknown = {}): Promise<AdminAnswer<V>> => {
    const schema: z.ZodType = adminVerbs[verb].answer
    const outcome = await admin.request(subjects.adm(verb), body, schema, { withinMs: 1000 })
    if (!outcome.ok) throw new Error(outcome.error.code)
    return outcome.value as AdminAnswer<V>
  }
  const routes = async (prefix: string) => {
    const store = memoryStore(buckets)
    return (await store.route.entries()).filter(({ key }) => key.startsWith(prefix))
  }
  return { clock, wire, buckets, faults, pass, lead, ask, routes }
}

const router = (bus: Bus, revision: number, holds: Record<string, number> = {}) =>
  bus.publish(subjects.hb(bus.name), {
    kind: 'router',
    router: bus.name,
    boot: 'b',
    pid: 9,
    holds,
    revision,
  })

t.test('a model is placed, started, routed, drained and stopped', async (t) => {
  const { clock, wire, pass, lead, ask, routes } = cluster()
  const { system } = await lead('l1')
  const node = simulateNode(wire.join('n1'), clock)
  t.teardown(node.stop)
  await pass(500)
  t.ok(node.token > 0, 'the node is registered and knows the token')

  await ask('models-add', { definition: modelOf('small', { header: null }) })
  await pass(3000)
  t.same(
    node.commands.map((it) => it.type),
    ['fetch', 'start'],
  )
  const [entry] = await routes('route.')
  const route = routeSchema.parse(entry?.value)
  t.match(route, { model: 'small', node: 'n1', state: 'ready', port: 4000 })
  t.equal((await routes('model.')).length, 1)
  const { models, leader } = await ask('status')
  t.same(models, [{ model: 'small', wanted: 1, ready: 1, reason: null }])
  t.equal(leader.name, 'l1')
  t.match(await ask('why', { model: 'small' }), { lines: [/1 wanted, 1 ready/, /fits and has/] })
  t.same((await ask('logs-read', { replica: route.replica, lines: 1 })).lines, [
    'a line of the log',
  ])

  const busy = wire.join('r1')
  router(busy, 0, { [route.replica]: 2 })
  await pass(100)
  t.equal((await ask('replicas-list')).replicas[0]?.inFlight, 2)
  await ask('models-remove', { model: 'small' })
  await pass(1000)
  const [draining] = await routes('route.')
  t.match(draining?.value, { state: 'draining' })
  router(busy, draining?.revision ?? 0, { [route.replica]: 1 })
  await pass(1000)
  t.equal(node.shards.size, 1, 'a request is still running')
  router(busy, draining?.revision ?? 0)
  await pass(2000)
  t.same(await routes('route.'), [])
  t.equal(node.commands.at(-1)?.type, 'stop')
  t.same((await ask('replicas-list')).replicas, [])
  await system.stop()
})

t.test(
  'a key is shown once, kept as its digest, and revoked everywhere at once (CL8)',
  async (t) => {
    const { wire, pass, lead, ask, routes } = cluster()
    const { system } = await lead('l1')
    await pass(200)
    const told: unknown[] = []
    wire.join('r1').subscribe(subjects.allAll, ({ body }) => told.push(revokedSchema.parse(body)))
    const { key, secret } = await ask('keys-create', { name: 'mine' })
    t.match(secret, /^sk-llmgw-[A-Za-z0-9_-]{43}$/)
    const [entry] = await routes('key.')
    t.same(routedKeySchema.parse(entry?.value), { id: key.id, name: 'mine', scope: 'cluster' })
    t.notOk(JSON.stringify([entry, await ask('keys-list')]).includes(secret.slice(9)))
    await ask('keys-revoke', { id: key.id })
    await settle()
    t.same(await routes('key.'), [])
    t.same(told, [{ sha256: entry?.key.slice(4) }])
    await t.rejects(ask('keys-revoke', { id: key.id }), { message: 'LLMGW_KEY_UNKNOWN' })
    await system.stop()
  },
)

t.test(
  'a successor carries on with models, replicas and keys, and starts nothing anew (CL2)',
  async (t) => {
    const { clock, wire, pass, lead, ask, routes } = cluster()
    const first = await lead('l1')
    const node = simulateNode(wire.join('n1'), clock)
    t.teardown(node.stop)
    await pass(500)
    await ask('models-add', { definition: modelOf() })
    await ask('keys-create', { name: 'mine' })
    await pass(2000)
    const before = await routes('')
    await first.system.stop()
    const second = await lead('l2')
    await pass(3000)
    t.equal((await ask('status')).leader.name, 'l2')
    t.equal((await ask('status')).replicas[0]?.state, 'ready')
    t.equal((await ask('keys-list')).keys.length, 1)
    t.same(await routes(''), before)
    t.same(
      node.commands.map((it) => it.type),
      ['start'],
    )
    await second.system.stop()
  },
)

t.test(
  'a leader that finds a higher fence stops its actors and needs a new term to act again (CL1)',
  async (t) => {
    const { pass, lead, ask, buckets } = cluster()
    const { system } = await lead('l1')
    await pass(200)
    const { leader } = await ask('status')
    await memoryStore(buckets).state.takeFence(leader.token + 1)
    await t.rejects(ask('models-add', { definition: modelOf() }), { message: 'LLMGW_FENCED' })
    await pass(2000)
    t.ok((await ask('status')).leader.token > leader.token, 'its record was still its own')
    t.same((await ask('status')).models, [])
    await system.stop()
  },
)

t.test(
  'a store that fails for a while costs no leadership and no change is half done',
  async (t) => {
    const { pass, lead, ask, faults } = cluster()
    const { system } = await lead('l1')
    await pass(200)
    const { leader } = await ask('status')
    faults.put = 'applied'
    await t.rejects(ask('models-add', { definition: modelOf() }), { message: 'LLMGW_STORE_FAILED' })
    faults.entries = 'lost'
    await pass(1000)
    faults.put = faults.entries = undefined
    await pass(3000)
    const { leader: after, models } = await ask('status')
    t.same(after, leader)
    t.match(models, [{ model: 'small' }], 'it was stored after all, and is known again')
    await system.stop()
  },
)

t.test('actors that fail for good give the lease to another candidate', async (t) => {
  const { pass, lead, ask, faults } = cluster()
  const first = await lead('l1')
  await pass(200)
  const second = await lead('l2', false)
  faults.entries = 'lost'
  await t.rejects(ask('models-add', { definition: 1 }), { message: 'LLMGW_DEFINITION_INVALID' })
  faults.put = 'lost'
  await t.rejects(ask('models-add', { definition: modelOf() }), { message: 'LLMGW_STORE_FAILED' })
  await pass(40_000)
  t.equal((await ask('status')).leader.name, 'l2')
  await first.system.stop()
  await second.system.stop()
})
