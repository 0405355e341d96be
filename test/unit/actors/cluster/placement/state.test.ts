// When placement decides, writes and orders.
import t from 'tap'
import type { Message, ReplicaRecord } from '../../../../../actors/cluster/placement/protocol.ts'
import {
  type Effect,
  init,
  type State,
  transition,
} from '../../../../../actors/cluster/placement/state.ts'
import type { Route } from '../../../../../transport/contract/route.ts'
import { catalogModel, heardOf, memberOf, membersOf } from '../../../../support/placement-world.ts'
import { shardOf } from '../../../../support/simulated-node.ts'

const leader = { name: 'l1', pid: 1, token: 7 }
const replyTo = () => {}
const record: ReplicaRecord = {
  replica: 'small-1',
  model: 'small',
  generation: 1000,
  node: 'n1',
  engine: 'llamacpp',
  profile: { contextTokens: 4096, slots: 1, cores: 1, memoryBytes: 1 },
  state: 'placed',
  why: 'it fits',
}
const route: Route = {
  replica: 'small-1',
  model: 'small',
  node: 'n1',
  engine: 'llamacpp',
  host: '127.0.0.1',
  port: 4000,
  slots: 1,
  state: 'ready',
}
const models: Message = { type: 'models', models: new Map([['small', catalogModel()]]) }
const shards = [shardOf('small-1', { progress: null })]
const members: Message = {
  type: 'members',
  members: membersOf(
    [memberOf('n1', heardOf({ shards })), memberOf('n2', null)],
    [{ router: 'r1', boot: 'b', pid: 3, holds: { 'small-1': 2 }, revision: 1, at: 0 }],
  ),
}
const loaded: Message = {
  type: 'loaded',
  at: 0,
  records: [record],
  routes: [
    { key: 'route.small-1', value: route, revision: 3 },
    { key: 'model.small', value: { model: 'small', created: 1 }, revision: 4 },
  ],
}

function feed(first: State, ...messages: Message[]): [State, readonly Effect[]] {
  let [state, effects]: [State, readonly Effect[]] = [first, []]
  for (const message of messages) [state, effects] = transition(state, message)
  return [state, effects]
}
const first = (): State => init(leader)[0]
const idle = (): State => feed(first(), models, members, loaded)[0]
const attemptOf = (state: State): number => (state.phase === 'loading' ? -1 : state.timer.attempt)
const due = (state: State): Message => ({
  type: 'due',
  attempt: attemptOf(state),
  at: 100,
  ids: ['x'],
})
const look = (verb: string, request = {}, at = 100): Message =>
  ({ type: 'look', verb, at, request, replyTo }) as Message

t.test('nothing is decided or answered before all is read', async (t) => {
  const [state, effects] = init(leader)
  t.same(effects, [{ do: 'load' }])
  t.same(feed(state, models, members)[1], [])
  t.same(feed(state, { type: 'wake', attempt: 0 }), [state, []])
  const noLeader = [{ do: 'refuse', failure: { code: 'LLMGW_NO_LEADER' } }]
  t.match(feed(state, look('status'))[1], noLeader)
  t.match(
    feed(state, { type: 'logs', request: { replica: 'small-1', lines: 5 }, replyTo })[1],
    noLeader,
  )
  const [lone] = feed(state, loaded)
  t.match(feed(lone, look('status'))[1], noLeader, 'nor before models and members were told')
  t.match(feed(feed(lone, models)[0], look('status'))[1], noLeader)
  t.match(feed(lone, due(lone)), [{ phase: 'idle' }, [{ do: 'wait', delayMs: 1000 }]])
  t.match(feed(feed(lone, models)[0], due(feed(lone, models)[0]))[1], [
    { do: 'wait', delayMs: 1000 },
  ])
})

t.test('what cannot be read or written is a crash', async (t) => {
  t.throws(() => feed(idle(), { type: 'unloaded', reason: 'broken' }), /broken/)
  t.throws(() => feed(idle(), { type: 'unstored', reason: 'full' }), /full/)
})

t.test('it decides at once, then each second, and soon after a change', async (t) => {
  const [state, effects] = feed(first(), models, members, loaded)
  t.match(effects, [{ do: 'wait', delayMs: 0, attempt: 1 }])
  t.match(feed(state, { type: 'wake', attempt: 1 })[1], [{ do: 'draw', attempt: 1 }])
  t.same(feed(state, { type: 'wake', attempt: 0 })[1], [])
  t.same(feed(state, { ...due(state), attempt: 0 } as Message)[1], [])
  const [rested, waits] = feed(state, due(state))
  t.match(waits, [{ do: 'wait', delayMs: 1000 }])
  const [soon, again] = feed(rested, members)
  t.match(again, [{ do: 'wait', delayMs: 50 }])
  t.same(feed(soon, members)[1], [], 'changes that come together are decided on together')
})

t.test('while its writes are under way it waits; revisions are remembered', async (t) => {
  const gone: Message = { type: 'models', models: new Map() }
  const [state] = feed(idle(), gone)
  const [writing, effects] = feed(state, due(state))
  t.equal(writing.phase, 'writing')
  const [write] = effects
  if (write?.do !== 'write') throw new Error('nothing was written')
  t.same(feed(writing, due(writing)), [writing, []])
  t.same(feed(writing, members)[1], [])
  const revisions = write.writes.map((_, index) => 10 + index)
  const [stored, waits] = feed(writing, {
    type: 'stored',
    at: 200,
    writes: write.writes,
    revisions,
  })
  t.match(waits, [{ do: 'wait', delayMs: 0 }])
  if (stored.phase === 'loading') throw new Error('it loads')
  t.equal(stored.records.get('small-1')?.state, 'draining')
  t.notOk(stored.routes.has('model.small'))
  const draining: Message = {
    type: 'stored',
    at: 300,
    writes: [
      { bucket: 'route', key: 'route.small-1', value: { ...route, state: 'draining' } },
      { bucket: 'state', replica: 'small-1', value: null },
    ],
    revisions: [20],
  }
  const [last] = feed(stored, draining)
  if (last.phase === 'loading') throw new Error('it loads')
  t.match(last.routes.get('route.small-1'), { revision: 20, at: 300 })
  t.equal(last.records.size, 0)
})

t.test('commands and headers leave with the decision', async (t) => {
  const bare: Message = { type: 'members', members: membersOf([memberOf('n1')]) }
  const [state] = feed(idle(), bare)
  t.match(feed(state, due(state))[1], [
    { do: 'command', order: { type: 'start', replica: 'small-1' } },
    { do: 'wait' },
  ])
})

t.test('status, nodes, models and replicas are put together from what is known', async (t) => {
  const value = (verb: string, request = {}, at = 100) => {
    const [effect] = feed(idle(), look(verb, request, at))[1]
    return effect?.do === 'answer' ? effect.value : effect
  }
  t.match(value('status'), {
    leader,
    nodes: [
      { node: 'n1', state: 'up' },
      { node: 'n2', state: 'gone' },
    ],
    routers: [{ router: 'r1', pid: 3, silentMs: 100 }],
    models: [{ model: 'small', wanted: 1, ready: 1, reason: null }],
    replicas: [
      { replica: 'small-1', state: 'ready', inFlight: 2, address: '127.0.0.1:4000', pid: 4711 },
    ],
  })
  t.match(value('nodes-list', {}, 10_000), {
    nodes: [
      { node: 'n1', state: 'silent', reservedBytes: 1 },
      { load: null, files: [], installs: [] },
    ],
  })
  t.match(value('models-list'), { models: [{ memoryBytes: Number, ready: 1, reason: null }] })
  t.match(value('models-show', { model: 'small' }), {
    model: { createdAt: 1000 },
    replicas: [{ replica: 'small-1' }],
  })
  t.match(value('replicas-list', {}, 70_000), { replicas: [{ state: 'lost' }] })
  t.match(value('why', { model: 'small' }), {
    lines: [/1 wanted, 1 ready; each needs/, /small-1 is ready on node n1: it fits\./],
  })
  t.match(value('why', { model: 'none' }), {
    do: 'refuse',
    failure: { code: 'LLMGW_MODEL_UNKNOWN' },
  })
  t.match(value('models-show', { model: 'none' }), { do: 'refuse' })
})

t.test('what is missing is said in words', async (t) => {
  const models: Message = {
    type: 'models',
    models: new Map([['small', catalogModel('small', { header: null })]]),
  }
  const failed = [shardOf('small-1', { phase: 'failed', reason: 'no memory', port: null })]
  const members: Message = {
    type: 'members',
    members: membersOf([memberOf('n1', heardOf({ shards: failed }))]),
  }
  const [state] = feed(first(), models, members, loaded)
  const [decided] = feed(state, due(state))
  const [effect] = feed(decided, look('why', { model: 'small' }))[1]
  t.match(effect, {
    value: {
      lines: [
        /0 ready; its memory is not known yet/,
        /is failed on node n1.*It says: no memory/,
        /reading the model's header on node n1/,
      ],
    },
  })
  t.match(feed(decided, look('models-list'))[1], [
    { value: { models: [{ memoryBytes: null, reason: String }] } },
  ])
  t.match(feed(decided, look('replicas-list'))[1], [{ value: { replicas: [{ address: null }] } }])
})

t.test('a model of an engine that this version does not know is shown all the same', async (t) => {
  const models: Message = {
    type: 'models',
    models: new Map([['small', catalogModel('small', { engine: 'gone' })]]),
  }
  const [state] = feed(first(), models, members, loaded)
  t.match(feed(state, look('models-list'))[1], [{ value: { models: [{ memoryBytes: null }] } }])
  t.match(feed(state, look('why', { model: 'small' }))[1], [
    { value: { lines: [/not known yet/, /ready/] } },
  ])
})

t.test('a record that is draining, or that no node names, shows as such', async (t) => {
  const draining: Message = { ...loaded, records: [{ ...record, state: 'draining' }] } as Message
  const bare: Message = { type: 'members', members: membersOf([memberOf('n1')]) }
  const stateOf = (...messages: Message[]) =>
    feed(first(), models, ...messages, look('replicas-list'))[1]
  t.match(stateOf(members, draining), [{ value: { replicas: [{ state: 'draining' }] } }])
  t.match(stateOf(bare, loaded), [
    { value: { replicas: [{ state: 'placed', pid: null, restarts: 0, inFlight: 0 }] } },
  ])
  const nobody: Message = { type: 'members', members: membersOf([]) }
  t.match(stateOf(nobody, loaded), [{ value: { replicas: [{ state: 'lost' }] } }])
  const idleRouter = { router: 'r1', boot: 'b', pid: 3, holds: {}, revision: 1, at: 0 }
  const calm: Message = { type: 'members', members: membersOf([memberOf('n1')], [idleRouter]) }
  t.match(stateOf(calm, loaded), [{ value: { replicas: [{ inFlight: 0 }] } }])
})

t.test('logs are asked of the node that has the replica', async (t) => {
  const logs = (replica: string): Message => ({
    type: 'logs',
    request: { replica, lines: 5 },
    replyTo,
  })
  t.match(feed(idle(), logs('small-1'))[1], [
    { do: 'logs', node: 'n1', boot: 'boot-n1', request: { lines: 5 } },
  ])
  t.match(feed(idle(), logs('none'))[1], [
    { do: 'refuse', failure: { code: 'LLMGW_REPLICA_UNKNOWN' } },
  ])
  const nobody: Message = { type: 'members', members: membersOf([]) }
  t.match(feed(idle(), nobody, logs('small-1'))[1], [
    { do: 'refuse', failure: { code: 'LLMGW_NODE_UNKNOWN' } },
  ])
  t.match(feed(feed(first(), loaded)[0], logs('small-1'))[1], [{ do: 'refuse' }])
})
