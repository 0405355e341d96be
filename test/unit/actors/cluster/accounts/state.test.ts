// Scopes and keys: what is stored, what is told, what is refused.
import t from 'tap'
import {
  type KeyRecord,
  type Message,
  rootScope,
} from '../../../../../actors/cluster/accounts/protocol.ts'
import {
  type Effect,
  init,
  type State,
  transition,
} from '../../../../../actors/cluster/accounts/state.ts'

const replyTo = () => {}
const key = (id: string): KeyRecord => ({
  id,
  name: id,
  scope: 'cluster',
  sha256: id.repeat(64),
  createdAt: 1,
})
function feed(first: State, ...messages: Message[]): [State, readonly Effect[]] {
  let [state, effects]: [State, readonly Effect[]] = [first, []]
  for (const message of messages) [state, effects] = transition(state, message)
  return [state, effects]
}
const load = (more: Partial<Extract<Message, { type: 'loaded' }>> = {}): Message => ({
  type: 'loaded',
  scopes: [rootScope],
  keys: [],
  routed: [],
  ...more,
})
const loaded = (...keys: KeyRecord[]): State =>
  feed(init()[0], load({ keys, routed: keys.map((it) => it.sha256) }))[0]

t.test('nothing is answered before the accounts are read', async (t) => {
  const [state, effects] = init()
  t.same(effects, [{ do: 'load' }])
  t.match(feed(state, { type: 'list', replyTo })[1], [
    { do: 'refuse', failure: { code: 'LLMGW_NO_LEADER' } },
  ])
  t.same(feed(state, { type: 'created', key: key('a') }), [state, []])
})

t.test('what cannot be read or written is a crash', async (t) => {
  t.throws(() => feed(loaded(), { type: 'unloaded', reason: 'broken' }), /broken/)
  t.throws(() => feed(loaded(), { type: 'unstored', reason: 'full' }), /full/)
})

t.test('the first leader makes the scope of the whole cluster; later ones find it', async (t) => {
  const [, effects] = feed(init()[0], load({ scopes: [] }))
  t.same(effects, [{ do: 'keep', scope: rootScope }])
  t.same(feed(init()[0], load())[1], [])
})

t.test('what an earlier leader left half done is set right', async (t) => {
  const [, effects] = feed(
    init()[0],
    load({ keys: [key('a'), key('b')], routed: [key('b').sha256, key('c').sha256] }),
  )
  t.same(effects, [
    { do: 'route', key: key('a') },
    { do: 'unroute', sha256: key('c').sha256 },
  ])
})

t.test('a key is made in a scope that is there', async (t) => {
  const create = (scope?: string): Message => ({
    type: 'create',
    name: 'mine',
    scope,
    at: 9,
    replyTo,
  })
  t.match(feed(loaded(), create())[1], [{ do: 'mint', name: 'mine', scope: 'cluster', at: 9 }])
  t.match(feed(loaded(), create('cluster'))[1], [{ do: 'mint' }])
  t.match(feed(loaded(), create('team'))[1], [
    { do: 'refuse', failure: { code: 'LLMGW_SCOPE_UNKNOWN' } },
  ])
})

t.test('keys are listed without their digests, and revoked once (CL8)', async (t) => {
  const [state] = feed(loaded(), { type: 'created', key: key('a') })
  t.same(feed(state, { type: 'list', replyTo })[1], [
    { do: 'answer', keys: [{ id: 'a', name: 'a', scope: 'cluster', createdAt: 1 }], replyTo },
  ])
  const [next, effects] = feed(state, { type: 'revoke', id: 'a', replyTo })
  t.same(effects, [{ do: 'revoke', key: key('a'), replyTo }])
  t.match(feed(next, { type: 'revoke', id: 'a', replyTo })[1], [
    { do: 'refuse', failure: { code: 'LLMGW_KEY_UNKNOWN' } },
  ])
})
