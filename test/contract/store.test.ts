// The store's promises, held against the real one over nats-server, the one in memory, and one that fails.
import t, { type Test } from 'tap'
import { connectBus } from '../../transport/bus.ts'
import { openStore, type Store } from '../../transport/store.ts'
import { failingStore, memoryStore } from '../support/memory-store.ts'
import { startNats } from '../support/nats-server.ts'

/** Two leaders' stores over the same buckets. */
type Pair = readonly [Store, Store]

async function realPair(t: Test): Promise<Pair | undefined> {
  const nats = await startNats(t)
  if (!nats) return undefined
  const open = async (name: string): Promise<Store> => {
    const bus = await connectBus({
      url: nats.url,
      credentials: await nats.credentials('leader', name),
      name,
    })
    t.teardown(() => bus.close())
    return openStore(bus)
  }
  return [await open('l1'), await open('l2')]
}

async function memoryPair(): Promise<Pair> {
  const buckets = {}
  return [memoryStore(buckets), memoryStore(buckets)]
}

/** Never told to fail: the wrapper itself must change nothing. */
async function wrappedPair(): Promise<Pair> {
  const [one, other] = await memoryPair()
  return [failingStore(one, () => undefined), failingStore(other, () => undefined)]
}

for (const [kind, makePair] of [
  ['nats-server', realPair],
  ['memory', memoryPair],
  ['wrapped', wrappedPair],
] as const) {
  t.test(`store over ${kind}`, async (t) => {
    const pair = await makePair(t)
    if (pair) await holdsItsPromises(t, pair)
  })
}

async function holdsItsPromises(t: Test, [one, other]: Pair): Promise<void> {
  await t.test('without its buckets, reads and writes fail and nothing is made', async (t) => {
    await t.rejects(one.lease.read(), { code: 'LLMGW_STORE_FAILED' })
    await t.rejects(one.state.entries(), { code: 'LLMGW_STORE_FAILED' })
    await t.rejects(one.state.takeFence(1), { code: 'LLMGW_STORE_FAILED' })
    t.strictSame(await one.lease.compareAndSet({}, 0, 1000), { ok: false, why: 'unknown' })
  })

  await t.test('the first to prepare it finds it fresh, later ones do not', async (t) => {
    t.strictSame(await one.prepare(), { fresh: true })
    t.strictSame(await other.prepare(), { fresh: false })
    t.strictSame(await one.prepare(), { fresh: false })
  })

  await t.test('the lease is written by compare-and-set alone', async (t) => {
    const empty = await one.lease.read()
    t.match(empty, { value: null, revision: 0 })
    const first = await one.lease.compareAndSet({ holder: 'one' }, 0, 1000)
    if (!first.ok) throw new Error(first.why)
    t.ok(Number.isSafeInteger(first.revision) && first.revision > 0)
    const second = await other.lease.compareAndSet({ holder: 'other' }, 0, 1000)
    t.strictSame(second, { ok: false, why: 'mismatch' })
    t.match(await other.lease.read(), {
      value: { holder: 'one' },
      revision: first.revision,
      created: empty.created,
    })
    const third = await other.lease.compareAndSet({ holder: 'other' }, first.revision, 1000)
    t.ok(third.ok && third.revision > first.revision)
    const late = await one.lease.compareAndSet({ holder: 'one' }, first.revision, 1000)
    t.strictSame(late, { ok: false, why: 'mismatch' })
  })

  await t.test('nothing is written without a fence', async (t) => {
    await t.rejects(one.state.put('a', 1), /fence/)
    await t.rejects(one.state.delete('a'), /fence/)
    t.strictSame(await one.state.entries(), [])
  })

  await t.test('what is put is listed with its revision, what is deleted is not', async (t) => {
    await one.state.takeFence(10)
    const first = await one.state.put('node.n1', { a: [1, 'x', null], b: undefined })
    const second = await one.state.put('key.=3a', 2)
    await one.state.put('gone', 3)
    await one.state.put('node.n1', { a: [] })
    await one.state.delete('gone')
    await one.state.delete('never.there')
    const entries = await other.state.entries()
    t.strictSame(entries.map((it) => it.key).sort(), ['key.=3a', 'node.n1'])
    t.match(
      entries.find((it) => it.key === 'key.=3a'),
      { value: 2, revision: second },
    )
    const changed = entries.find((it) => it.key === 'node.n1')
    t.strictSame(changed?.value, { a: [] })
    t.ok(second > first && (changed?.revision ?? 0) > second)
    t.strictSame(await other.route.entries(), [], 'the buckets are apart')
  })

  await t.test('a successor that took its fence shuts the older leader out', async (t) => {
    await other.state.takeFence(20)
    await t.rejects(one.state.put('node.n1', 'late'), { code: 'LLMGW_FENCED' })
    await t.rejects(one.state.delete('node.n1'), { code: 'LLMGW_FENCED' })
    await other.state.put('node.n2', 'mine')
    const entries = await other.state.entries()
    t.strictSame(
      entries.find((it) => it.key === 'node.n1')?.value,
      { a: [] },
      'nothing of the older leader came through',
    )
    t.ok(entries.some((it) => it.key === 'node.n2'))
  })

  await t.test('a late starter cannot put a lower fence on top', async (t) => {
    await t.rejects(one.state.takeFence(19), { code: 'LLMGW_FENCED' })
    t.type(await other.state.put('node.n2', 'still mine'), 'number')
    await t.rejects(one.state.put('node.n1', 'late'), { code: 'LLMGW_FENCED' })
  })

  await t.test('the same leader may take its fence twice', async (t) => {
    await other.state.takeFence(20)
    t.type(await other.state.put('node.n2', 'again'), 'number')
  })
}

t.test('a failing store fails before or after the write, as it is told', async (t) => {
  const buckets = {}
  const good = memoryStore(buckets)
  await good.prepare()
  await good.state.takeFence(1)
  let how: 'lost' | 'applied' | undefined
  const store = failingStore(memoryStore(buckets), (operation) =>
    operation === 'compareAndSet' ? how : undefined,
  )
  how = 'lost'
  t.strictSame(await store.lease.compareAndSet(1, 0, 100), { ok: false, why: 'unknown' })
  t.match(await store.lease.read(), { revision: 0 })
  how = 'applied'
  t.strictSame(await store.lease.compareAndSet(1, 0, 100), { ok: false, why: 'unknown' })
  t.match(await store.lease.read(), { value: 1 })
})
