// Export and import: state survives, a damaged or newer file changes nothing, and a repeated import neither.
import t from 'tap'
import { exportState, importState } from '../../../transport/export.ts'
import type { Store } from '../../../transport/store.ts'
import { failingStore, memoryStore } from '../../support/memory-store.ts'

const origin = { cluster: 'ACLUSTER', exportedAt: 1_700_000_000_000 }

async function filled(): Promise<Store> {
  const store = memoryStore()
  await store.prepare()
  await store.lease.compareAndSet({ holder: 'l1' }, 0, 1000)
  await store.state.takeFence(5)
  await store.state.put('model.a', { name: 'a', text: 'line\nbreak "ü"', list: [1, null, true] })
  await store.state.put('key.b', 2.5)
  await store.route.takeFence(5)
  await store.route.put('route.r1', { port: 1 })
  return store
}

const contents = async (store: Store) => {
  const list = async (bucket: 'state' | 'route') =>
    (await store[bucket].entries()).map(({ key, value }) => ({ key, value }))
  return { state: await list('state'), route: await list('route') }
}

t.test('an empty store becomes what was exported', async (t) => {
  const store = await filled()
  const text = await exportState(store, origin)
  const other = memoryStore()
  await other.prepare()
  const header = await importState(other, 1, text, 'the file')
  t.match(header, { ...origin, version: 1, counts: { state: 2, route: 1 } })
  t.match(await other.lease.read(), { revision: 0 }, 'the lease is not taken along')
  t.equal(await exportState(other, origin), text)
})

t.test('what the file does not hold is gone afterwards', async (t) => {
  const text = await exportState(await filled(), origin)
  const other = memoryStore()
  await other.prepare()
  await other.state.takeFence(1)
  await other.state.put('stranger', 1)
  await other.state.put('key.b', 'changed')
  await importState(other, 2, text, 'the file')
  t.strictSame(await exportState(other, origin), text)
})

t.test(
  'an import that failed on the way is finished by the next, which writes only what is missing',
  async (t) => {
    const text = await exportState(await filled(), origin)
    const store = memoryStore()
    await store.prepare()
    let puts = 0
    const failing = failingStore(store, (operation) => {
      if (operation !== 'put') return undefined
      puts += 1
      return puts === 2 ? 'lost' : undefined
    })
    await t.rejects(importState(failing, 1, text, 'f'), { code: 'LLMGW_STORE_FAILED' })
    puts = 10
    await importState(failing, 1, text, 'f')
    t.equal(puts, 12)
    t.equal(await exportState(store, origin), text)
    await importState(failing, 1, text, 'f')
    t.equal(puts, 12)
  },
)

t.test('a later leader stops an import', async (t) => {
  const text = await exportState(await filled(), origin)
  const store = await filled()
  await t.rejects(importState(store, 4, text, 'f'), { code: 'LLMGW_FENCED' })
})

t.test('a damaged, foreign or newer file is refused before anything is written', async (t) => {
  const text = await exportState(await filled(), origin)
  const [header = '', ...rest] = text.split('\n')
  const without = (n: number): string => [header, ...rest.slice(n)].join('\n')
  const told = (change: object): string =>
    [JSON.stringify({ ...JSON.parse(header), ...change }), ...rest].join('\n')
  const store = await filled()
  const before = await contents(store)
  for (const [damaged, problem] of [
    ['', /line 1 is not JSON/],
    ['{}\n', /not the header/],
    ['PK\u0003\u0004', /line 1 is not JSON/],
    [text.slice(0, -10), /changed or cut off/],
    [text.replace('2.5', '3.5'), /changed or cut off/],
    [without(1), /changed or cut off/],
    [told({ version: 2 }), /version 2.*upgrade llmgw/],
    [told({ counts: { state: 3, route: 1 } }), /2 entries of state/],
  ] as const) {
    await t.rejects(importState(store, 9, damaged, 'the file'), {
      code: 'LLMGW_EXPORT_UNUSABLE',
      message: problem,
    })
  }
  t.strictSame(await contents(store), before)
  t.type(await store.state.put('key.b', 1), 'number', 'not even the fence was taken')
})
