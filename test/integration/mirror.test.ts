// The mirror against a real server: whatever happens to the watch, its bucket and the server, the owner ends up right.
import { jetstreamManager } from '@nats-io/jetstream'
import t, { type Test } from 'tap'
import { systemClock } from '../../kernel/clock.ts'
import { startSystem } from '../../kernel/system.ts'
import { connectBus, type NatsBus } from '../../transport/bus.ts'
import type { Role } from '../../transport/contract/subjects.ts'
import { type MirrorEvent, mirrorSpec, natsMirrorPorts } from '../../transport/mirror.ts'
import { lookMs, retryMs } from '../../transport/mirror-state.ts'
import { openStore, type Store } from '../../transport/store.ts'
import { startNats, type TestNats } from '../support/nats-server.ts'

/** A watch that went deaf is found within two looks. */
const aimMs = 2 * lookMs

/** What the owner of a mirror makes of its events. */
class Owner {
  readonly known = new Map<string, unknown>()
  readonly revisions = new Map<string, number>()
  lists = 0
  wentBack = false
  #waiting: { holds: () => boolean; resolve: () => void } | undefined

  hear = (event: MirrorEvent): void => {
    if (event.type === 'listed') {
      this.lists += 1
      this.known.clear()
      for (const [key, { value, revision }] of event.entries) this.#set(key, value, revision)
    } else if (event.type === 'put') {
      this.#set(event.entry.key, event.entry.value, event.entry.revision)
    } else {
      this.known.delete(event.key)
    }
    if (this.#waiting?.holds()) this.#waiting.resolve()
  }

  until(holds: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      if (holds()) resolve()
      else this.#waiting = { holds, resolve }
    })
  }

  #set(key: string, value: unknown, revision: number): void {
    if (revision < (this.revisions.get(key) ?? 0)) this.wentBack = true
    this.revisions.set(key, revision)
    this.known.set(key, value)
  }
}

async function join(t: Test, nats: TestNats, role: Role, name: string): Promise<NatsBus> {
  const credentials = await nats.credentials(role, name)
  const bus = await connectBus({ url: nats.url, credentials, name })
  t.teardown(() => bus.close())
  return bus
}

async function setUp(t: Test, nats: TestNats) {
  const leader = await join(t, nats, 'leader', 'l1')
  const router = await join(t, nats, 'router', 'r1')
  const owner = new Owner()
  const system = startSystem({ clock: systemClock })
  system.spawn(
    mirrorSpec(
      'routes',
      natsMirrorPorts(router, 'llmgw_route', (it) => t.comment(it)),
      owner.hear,
    ),
  )
  t.teardown(() => system.stop())
  const store = openStore(leader)
  const manager = await jetstreamManager(leader.connection)
  return { owner, store, manager, leader, system }
}

const ready = async (store: Store, token = 1): Promise<void> => {
  await store.prepare()
  await store.route.takeFence(token)
}

t.test('entries are listed and changes told as they come', { timeout: 120_000 }, async (t) => {
  const nats = await startNats(t)
  if (!nats) return
  const { owner, store, system, manager } = await setUp(t, nats)
  await ready(store)
  await owner.until(() => owner.lists === 1)
  t.equal(owner.known.size, 0, 'the fence is not shown')
  await store.route.put('a', 1)
  await store.route.put('b', 2)
  await store.route.put('a', 3)
  await store.route.delete('b')
  await store.route.put('c', { d: [4] })
  await owner.until(() => owner.known.has('c'))
  t.strictSame(Object.fromEntries(owner.known), { a: 3, c: { d: [4] } })
  t.equal(owner.lists, 1)
  await system.stop()
  t.equal((await manager.streams.info('KV_llmgw_route')).state.consumer_count <= 1, true)
})

t.test('a consumer that the server lost is made again', { timeout: 120_000 }, async (t) => {
  const nats = await startNats(t)
  if (!nats) return
  const { owner, store, manager } = await setUp(t, nats)
  await ready(store)
  await store.route.put('a', 1)
  await owner.until(() => owner.known.get('a') === 1)
  for await (const consumer of manager.consumers.list('KV_llmgw_route')) {
    await manager.consumers.delete('KV_llmgw_route', consumer.name)
  }
  const startedAt = performance.now()
  await store.route.put('a', 2)
  await store.route.put('b', 2)
  await store.route.delete('b')
  await owner.until(() => owner.known.get('a') === 2 && !owner.known.has('b'))
  const tookMs = Math.round(performance.now() - startedAt)
  t.comment(`deaf for ${tookMs} ms`)
  t.ok(tookMs < 10 * aimMs)
  t.notOk(owner.wentBack)
})

t.test('a bucket that was made again is followed', { timeout: 120_000 }, async (t) => {
  const nats = await startNats(t)
  if (!nats) return
  const { owner, store, manager } = await setUp(t, nats)
  await ready(store)
  await store.route.put('old', 1)
  await owner.until(() => owner.known.has('old'))
  await manager.streams.delete('KV_llmgw_route')
  const startedAt = performance.now()
  await ready(store, 2)
  await store.route.put('new', 2)
  await owner.until(() => owner.known.has('new') && !owner.known.has('old'))
  const tookMs = Math.round(performance.now() - startedAt)
  t.comment(`behind for ${tookMs} ms`)
  t.ok(tookMs < 10 * aimMs)
  await store.route.put('newer', 3)
  await owner.until(() => owner.known.has('newer'))
})

t.test('a server killed and started again costs no change', { timeout: 120_000 }, async (t) => {
  const nats = await startNats(t)
  if (!nats) return
  const { owner, store, leader } = await setUp(t, nats)
  await ready(store)
  await store.route.put('a', 1)
  await store.route.put('b', 1)
  await owner.until(() => owner.known.size === 2)
  const back = new Promise<void>((resolve) => {
    leader.onStatus((status) => status.type === 'connected' && resolve())
  })
  await nats.kill('SIGKILL')
  await nats.start()
  const startedAt = performance.now()
  await back
  await store.route.put('a', 2)
  await store.route.delete('b')
  await owner.until(() => owner.known.get('a') === 2 && owner.known.size === 1)
  t.comment(`right again after ${Math.round(performance.now() - startedAt)} ms`)
  t.notOk(owner.wentBack)
})

t.test('a bucket that is not there yet is waited for', { timeout: 120_000 }, async (t) => {
  const nats = await startNats(t)
  if (!nats) return
  const { owner, store } = await setUp(t, nats)
  t.equal(owner.lists, 0)
  const startedAt = performance.now()
  await store.prepare()
  await owner.until(() => owner.lists === 1)
  t.ok(performance.now() - startedAt < 10 * retryMs, 'an empty bucket is a complete list too')
  await store.route.takeFence(1)
  await store.route.put('a', 1)
  await owner.until(() => owner.known.has('a'))
})
