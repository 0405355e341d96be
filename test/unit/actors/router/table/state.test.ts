// The table of routes by table: mirror, failures, checks.
import t from 'tap'
import type { Message, TableSnapshot, TryEnd } from '../../../../../actors/router/table/protocol.ts'
import {
  type Effect,
  init,
  type State,
  transition,
} from '../../../../../actors/router/table/state.ts'

const route = (replica: string, change: object = {}) => ({
  replica,
  model: 'm',
  node: 'n',
  engine: 'llamacpp',
  host: '127.0.0.1',
  port: 1000,
  slots: 2,
  state: 'ready',
  ...change,
})
const model = (name: string) => ({ model: name, created: 5 })
const listed = (given: Record<string, unknown>, revision = 3): Message => ({
  type: 'listed',
  revision,
  entries: new Map(Object.entries(given).map(([name, value]) => [name, { value }])),
})
const put = (key: string, value: unknown, revision = 4): Message => ({
  type: 'put',
  entry: { key, value, revision },
})
const deleted = (key: string): Message => ({ type: 'deleted', key, revision: 5 })
const two = listed({
  'route.a': route('a'),
  'route.b': route('b'),
  'model.m': model('m'),
  'key.x': {},
})

function run(...messages: Message[]): {
  state: State
  effects: readonly Effect[]
  table: TableSnapshot | null
} {
  let [state] = init()
  let effects: readonly Effect[] = []
  let table: TableSnapshot | null = null
  for (const message of messages) {
    ;[state, effects] = transition(state, message)
    for (const effect of effects) if (effect.do === 'publish') table = effect.snapshot
  }
  return { state, effects, table }
}
const ready = (table: TableSnapshot | null) => table?.ready.get('m')?.map((it) => it.replica)

t.test('it begins with nothing, recalls what the counters hold, and reports', async (t) => {
  const [state, effects] = init()
  t.match(state, { listed: false, revision: 0 })
  t.match(effects, [{ do: 'recall' }, { do: 'wait', message: { type: 'report-due' } }])
})

t.test('routes and models follow the mirror', async (t) => {
  t.same(ready(run(two).table), ['a', 'b'])
  t.match(run(two).table, { listed: true, revision: 3 })
  t.same([...(run(two).table?.models.keys() ?? [])], ['m'])
  t.same(ready(run(two, put('route.c', route('c'))).table), ['a', 'b', 'c'])
  t.equal(run(two, put('route.c', route('c'))).table?.revision, 4)
  t.same(ready(run(two, put('route.a', route('a', { state: 'draining' }))).table), ['b'])
  t.same(ready(run(two, deleted('route.a')).table), ['b'])
  t.equal(run(two, deleted('model.m')).table?.models.size, 0)
  t.equal(run(two, deleted('key.x')).table?.models.size, 1)
})

t.test('nothing is published before the whole table was told', async (t) => {
  t.equal(run(put('route.a', route('a')), ended(tried('a', 'failed', 1))).table, null)
})

t.test('a replica that is gone is forgotten', async (t) => {
  t.match(run(two, deleted('route.a')).effects, [{ do: 'publish' }, { do: 'forget', replica: 'a' }])
  const next = run(two, listed({ 'route.b': route('b') }))
  t.match(next.effects, [{ do: 'publish' }, { do: 'forget', replica: 'a' }])
  t.same(ready(next.table), ['b'])
})

t.test('an entry that cannot be read is told and changes nothing else', async (t) => {
  const broken = run(two, put('route.a', route('a', { port: 0 })))
  t.same(ready(broken.table), ['a', 'b'], 'what was there stays')
  t.match(broken.effects, [{ do: 'publish' }, { do: 'warn', key: 'route.a' }])
  t.match(run(listed({ 'model.m': 7 })).effects, [
    { do: 'publish' },
    { do: 'warn', key: 'model.m' },
  ])
})

const tried = (replica: string, how: TryEnd['how'], at: number, ghost = false): TryEnd => ({
  replica,
  how,
  ghost,
  at,
})
const ended = (...tries: TryEnd[]): Message => ({ type: 'ended', tries })
const avoided = (...messages: Message[]) =>
  Object.fromEntries(run(two, ...messages).table?.avoided ?? [])

t.test('a replica is left alone after three failures in a row, ever longer (RT3)', async (t) => {
  const fail = (at: number) => tried('a', 'failed', at)
  t.match(avoided(ended(fail(0), fail(1))), { a: 0 })
  t.match(avoided(ended(fail(0), fail(1), fail(2))), { a: 1002 })
  t.match(
    avoided(ended(fail(0), fail(1), fail(2), fail(3))),
    { a: 1002 },
    'meanwhile nothing is new',
  )
  const again = [ended(fail(0), fail(1), fail(2)), ended(fail(2000), fail(2001), fail(2002))]
  t.match(avoided(...again), { a: 4002 })
  t.same(avoided(ended(fail(0), fail(1), tried('a', 'answered', 2), fail(3))), { a: 0 })
  t.same(avoided(...again, ended(tried('a', 'answered', 5000))), {})
})

t.test('one that nobody reaches is left alone at once, for at most 30 s', async (t) => {
  t.match(avoided(ended(tried('a', 'unreachable', 10))), { a: 1010 })
  const many = Array.from({ length: 12 }, (_, turn) => tried('a', 'unreachable', turn * 100_000))
  t.match(avoided(ended(...many)), { a: 1_130_000 })
})

t.test('what the leader says anew of a replica ends what was held against it', async (t) => {
  const failed = ended(tried('a', 'unreachable', 1), tried('b', 'unreachable', 1))
  t.same(avoided(failed, put('route.a', route('a', { port: 2000 }))), { b: 1001 })
  t.same(avoided(failed, put('model.n', model('n'))), { a: 1001, b: 1001 })
})

t.test("clients that leave are on nobody's account", async (t) => {
  const { effects } = run(
    two,
    ended(tried('a', 'open', 1), tried('a', 'open', 2), tried('a', 'open', 3)),
  )
  t.same(effects, [])
})

t.test('of a replica that is gone nothing is remembered', async (t) => {
  t.same(run(two, ended(tried('z', 'unreachable', 1))).state.breakers.size, 0)
  t.same(
    avoided(
      ended(tried('a', 'unreachable', 1)),
      deleted('route.a'),
      ended(tried('b', 'failed', 2)),
    ),
    { b: 0 },
  )
})

t.test('ghosts of a replica are looked after until none is left', async (t) => {
  const haunted = ended(tried('a', 'open', 1, true), tried('a', 'open', 2, true))
  const due: Message = { type: 'check-due', replica: 'a' }
  t.match(run(two, haunted).effects, [{ do: 'wait', message: due }])
  t.same(run(two, haunted, haunted).effects, [], 'once')
  t.match(run(two, haunted, due).effects, [{ do: 'check', route: { replica: 'a' } }])
  const counted: Message = { type: 'counted', replica: 'a', askedAt: 5, busy: 1 }
  t.match(run(two, haunted, counted).effects, [{ do: 'judge', replica: 'a', askedAt: 5, busy: 1 }])
  const ghosts = [
    { at: 1, until: 100 },
    { at: 2, until: 100 },
  ]
  const checked = (busy: number): Message => ({
    type: 'checked',
    check: { replica: 'a', askedAt: 5, busy, settled: 0, ghosts, now: 6 },
  })
  const some = run(two, haunted, checked(1))
  t.match(some.effects, [
    { do: 'end-ghosts', ghosts: [ghosts[0]] },
    { do: 'wait', message: due },
  ])
  t.ok(some.state.haunted.has('a'))
  const none = run(two, haunted, checked(0))
  t.match(none.effects, [{ do: 'end-ghosts', ghosts }])
  t.equal(none.effects.length, 1)
  t.notOk(none.state.haunted.has('a'))
})

t.test('ghosts end with their replica', async (t) => {
  const haunted: Message = { type: 'haunted', replicas: ['a'] }
  const { effects, state } = run(two, haunted, deleted('route.a'), {
    type: 'check-due',
    replica: 'a',
  })
  t.same(effects, [{ do: 'end-ghosts', replica: 'a', ghosts: 'all' }])
  t.equal(state.haunted.size, 0)
})

t.test('it reports every second what it knows', async (t) => {
  const { effects } = run(two, { type: 'report-due' })
  t.match(effects, [
    { do: 'report', revision: 3, replicas: new Set(['a', 'b']) },
    { do: 'wait', delayMs: 1000, message: { type: 'report-due' } },
  ])
})
