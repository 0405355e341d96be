// Which replica a request goes to.
import t from 'tap'
import { type PickFrom, pick } from '../../../../../actors/router/table/pick.ts'
import type { Route } from '../../../../../transport/contract/route.ts'

const route = (replica: string, slots = 4): Route => ({
  replica,
  model: 'm',
  node: 'n',
  engine: 'llamacpp',
  host: 'h',
  port: 1,
  slots,
  state: 'ready',
})

const choose = (loads: Record<string, number>, more: Partial<PickFrom> = {}) =>
  pick({
    routes: Object.keys(loads).map((it) => route(it)),
    load: (replica) => loads[replica] ?? 0,
    avoided: new Map(),
    tried: [],
    now: 1000,
    turn: 0,
    ...more,
  })?.replica

t.test('the least loaded for its slots is taken (RT2)', async (t) => {
  t.equal(choose({ a: 2, b: 1, c: 3 }), 'b')
  t.equal(choose({ a: 3, b: 2 }, { routes: [route('a', 8), route('b', 4)] }), 'a')
  t.equal(choose({}), undefined)
})

t.test('equals take turns', async (t) => {
  const turns = [0, 1, 2, 3].map((turn) => choose({ a: 0, b: 0, c: 0 }, { turn }))
  t.same(turns, ['a', 'b', 'c', 'a'])
})

t.test('the tried are not taken again', async (t) => {
  t.equal(choose({ a: 0, b: 9 }, { tried: ['a'] }), 'b')
  t.equal(choose({ a: 0, b: 9 }, { tried: ['a', 'b'] }), undefined)
})

t.test('the avoided are taken only where no other is left (RT3)', async (t) => {
  const avoided = new Map([['a', 2000]])
  for (const turn of [0, 1]) t.equal(choose({ a: 0, b: 9 }, { avoided, turn }), 'b')
  t.equal(choose({ a: 0, b: 9 }, { avoided, tried: ['b'] }), 'a', 'never the last one out')
  t.equal(choose({ a: 0, b: 9 }, { avoided, now: 2000 }), 'a', 'its time is over')
  const both = new Map([
    ['a', 2000],
    ['b', 3000],
  ])
  t.equal(choose({ a: 5, b: 4 }, { avoided: both }), 'b')
})
