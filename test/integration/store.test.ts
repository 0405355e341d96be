// The store where only a real server can tell: other settings, a bucket made again, an old or silent server.
import { jetstreamManager } from '@nats-io/jetstream'
import t, { type Test } from 'tap'
import { LlmgwError } from '../../kernel/errors.ts'
import { connectBus, type NatsBus } from '../../transport/bus.ts'
import { exportState, importState } from '../../transport/export.ts'
import { openStore } from '../../transport/store.ts'
import { startNats, type TestNats } from '../support/nats-server.ts'

async function leader(t: Test, nats: TestNats): Promise<NatsBus> {
  const credentials = await nats.credentials('leader', 'l1')
  const bus = await connectBus({ url: nats.url, credentials, name: 'l1' })
  t.teardown(() => bus.close())
  return bus
}

t.test('buckets are on disk, bounded, and read from their leader alone', async (t) => {
  const nats = await startNats(t)
  if (!nats) return
  const bus = await leader(t, nats)
  await openStore(bus).prepare()
  const manager = await jetstreamManager(bus.connection)
  for (const name of ['KV_llmgw_lease', 'KV_llmgw_state', 'KV_llmgw_route']) {
    const { config } = await manager.streams.info(name)
    t.match(config, { storage: 'file', allow_direct: false, max_msgs_per_subject: 1 })
    t.ok(config.max_bytes > 0 && config.max_msg_size > 0, 'bounded')
    t.ok(config.deny_delete && config.deny_purge, 'history is not rewritten')
  }
})

t.test('a bucket with other settings is refused by name', async (t) => {
  const nats = await startNats(t)
  if (!nats) return
  const bus = await leader(t, nats)
  const manager = await jetstreamManager(bus.connection)
  await openStore(bus).prepare()
  await manager.streams.update('KV_llmgw_route', { max_bytes: 1024 * 1024 })
  await t.rejects(openStore(bus).prepare(), {
    code: 'LLMGW_STORE_FAILED',
    message: /llmgw_route: its setting max_bytes is 1048576/,
  })
})

t.test('revisions of a bucket that was made again are above all before', async (t) => {
  const nats = await startNats(t)
  if (!nats) return
  const bus = await leader(t, nats)
  const store = openStore(bus)
  await store.prepare()
  const before = await store.lease.compareAndSet('old', 0, 1000)
  const { created } = await store.lease.read()
  const manager = await jetstreamManager(bus.connection)
  await manager.streams.delete('KV_llmgw_lease')
  t.strictSame(await store.prepare(), { fresh: true })
  const after = await store.lease.compareAndSet('new', 0, 1000)
  t.ok(before.ok && after.ok && after.revision > before.revision)
  t.not((await store.lease.read()).created, created)
})

t.test('what was acknowledged is there after the server was killed', async (t) => {
  const nats = await startNats(t)
  if (!nats) return
  const bus = await leader(t, nats)
  const store = openStore(bus)
  await store.prepare()
  await store.state.takeFence(1)
  const back = new Promise<void>((resolve) => {
    bus.onStatus((status) => status.type === 'connected' && resolve())
  })
  const revision = await store.state.put('a', 1)
  await nats.kill('SIGKILL')
  const unknown = await store.lease.compareAndSet('x', 0, 100)
  t.strictSame(unknown, { ok: false, why: 'unknown' })
  await nats.start()
  await back
  t.strictSame(await store.state.entries(), [{ key: 'a', value: 1, revision }])
  t.ok((await store.state.put('b', 2)) > revision, 'the fence still holds')
})

t.test('bytes that nobody can read are named, not skipped', async (t) => {
  const nats = await startNats(t)
  if (!nats) return
  const bus = await leader(t, nats)
  const store = openStore(bus)
  await store.prepare()
  await store.state.takeFence(1)
  await bus.connection.request('$KV.llmgw_state.bad', new Uint8Array([0xc1]))
  await t.rejects(store.state.entries(), {
    code: 'LLMGW_STORE_FAILED',
    message: /bad: its bytes cannot be read/,
  })
})

t.test('keys that would reach other subjects are refused', async (t) => {
  const nats = await startNats(t)
  if (!nats) return
  const store = openStore(await leader(t, nats))
  await store.prepare()
  await store.state.takeFence(1)
  for (const key of ['', 'a b', 'a.>', '*', 'a..b', '.a', 'a.', 'fence', 'ü', 'a:b']) {
    await t.rejects(store.state.put(key, 1), /not a key/)
  }
})

t.test('an older server is refused with what to do', async (t) => {
  const nats = await startNats(t)
  if (!nats) return
  const bus = await leader(t, nats)
  const old = Object.create(bus, { serverVersion: { value: '2.10.27' } })
  await t.rejects(openStore(old).prepare(), {
    code: 'LLMGW_NATS_TOO_OLD',
    message: /127\.0\.0\.1:\d+ has version 2\.10\.27; 2\.15\.1 or newer/,
  })
})

t.test('all state moves to another cluster in one file', async (t) => {
  const [from, to] = [await startNats(t), await startNats(t)]
  if (!from || !to) return
  const store = openStore(await leader(t, from))
  await store.prepare()
  await store.state.takeFence(1)
  await store.state.put('model.a', { replicas: 1 })
  await store.state.put('gone', 1)
  await store.state.delete('gone')
  await store.route.takeFence(1)
  await store.route.put('route.r1', { port: 1 })
  const origin = { cluster: from.identity.account, exportedAt: 1 }
  const text = await exportState(store, origin)
  const other = openStore(await leader(t, to))
  await other.prepare()
  t.match(await importState(other, 1, text, 'f'), { counts: { state: 1, route: 1 } })
  t.equal(await exportState(other, origin), text)
})

t.test('of two leaders that both write, none is acknowledged after its successor', async (t) => {
  const nats = await startNats(t)
  if (!nats) return
  const bus = await leader(t, nats)
  await openStore(bus).prepare()
  const acknowledged: { token: number; revision: number }[] = []
  let refused = 0
  const reign = async (token: number): Promise<void> => {
    const { state } = openStore(bus)
    await state.takeFence(token)
    for (let i = 0; i < 30; i++) {
      acknowledged.push({ token, revision: await state.put(`key.${i % 3}`, { token, i }) })
    }
  }
  const deposed = (thrown: unknown): void => {
    if (!(thrown instanceof LlmgwError) || thrown.code !== 'LLMGW_FENCED') throw thrown
    refused += 1
  }
  for (let token = 1; token < 20; token += 2) {
    await Promise.all([reign(token).catch(deposed), reign(token + 1).catch(deposed)])
  }
  acknowledged.sort((a, b) => a.revision - b.revision)
  const tokens = acknowledged.map((it) => it.token)
  t.strictSame(
    tokens,
    tokens.toSorted((a, b) => a - b),
  )
  t.comment(`${acknowledged.length} writes acknowledged, ${refused} refused`)
  t.ok(refused > 0, "they did get in each other's way")
})
