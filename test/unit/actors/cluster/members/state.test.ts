// Registrations, reports and silence of nodes and routers.
import t from 'tap'
import type { Message, Registered } from '../../../../../actors/cluster/members/protocol.ts'
import {
  type Effect,
  init,
  routerForgottenMs,
  type State,
  transition,
} from '../../../../../actors/cluster/members/state.ts'
import type { Outcome } from '../../../../../transport/contract/envelope.ts'
import type { NodeFile, NodeReport, Registration } from '../../../../../transport/contract/node.ts'
import { GiB, hardwareOf } from '../../../../support/simulated-node.ts'

const nobody = (_: Outcome<Registered>) => {}
const file: NodeFile = { key: 'k', sizeBytes: 1, sha256: null, header: null, failure: null }
const report = (seq: number, more: Partial<NodeReport> = {}): NodeReport => ({
  kind: 'node',
  node: 'n1',
  boot: 'b1',
  seq,
  load: { memoryAvailableBytes: GiB, diskFreeBytes: GiB, diskTotalBytes: GiB },
  shards: [],
  ...more,
})
const registration = (more: Partial<Registration> = {}): Registration => ({
  node: 'n1',
  boot: 'b1',
  pid: 1,
  version: '0',
  address: '127.0.0.1',
  hardware: hardwareOf(),
  report: report(1, { files: [file], installs: [] }),
  ...more,
})
const register = (more: Partial<Registration> = {}, caller = 'n1'): Message => ({
  type: 'register',
  at: 10,
  caller,
  registration: registration(more),
  replyTo: nobody,
})
const reported = (it: NodeReport, at: number, caller = it.node): Message => ({
  type: 'report',
  at,
  caller,
  report: it,
})
const router = (at: number, name = 'r1', caller = name): Message => ({
  type: 'report',
  at,
  caller,
  report: { kind: 'router', router: name, boot: 'b', pid: 2, holds: { a: 1 }, revision: 5 },
})

function feed(first: State, ...messages: Message[]): [State, readonly Effect[]] {
  let [state, effects]: [State, readonly Effect[]] = [first, []]
  for (const message of messages) [state, effects] = transition(state, message)
  return [state, effects]
}
const { report: _, ...record } = registration()
const loaded = (): State => feed(init()[0], { type: 'loaded', at: 0, nodes: [record] })[0]
const nodeOf = (state: State) =>
  state.phase === 'ready' ? state.members.nodes.get('n1') : undefined

t.test('nothing is taken before the records are read', async (t) => {
  const [state, effects] = init()
  t.same(effects, [{ do: 'load' }])
  t.match(feed(state, register())[1], [{ do: 'refuse', failure: { code: 'LLMGW_NO_LEADER' } }])
  t.same(feed(state, reported(report(1), 1)), [state, []])
  t.match(feed(state, { type: 'loaded', at: 5, nodes: [record] })[1], [
    { do: 'tell', members: { since: 5 } },
  ])
})

t.test('a record that cannot be read or written is a crash', async (t) => {
  t.throws(() => feed(loaded(), { type: 'unloaded', reason: 'broken' }), /broken/)
  t.throws(() => feed(loaded(), { type: 'unstored', reason: 'full' }), /full/)
})

t.test(
  'a registration is stored where it is new, and only welcomed where it is known',
  async (t) => {
    const [empty] = feed(init()[0], { type: 'loaded', at: 0, nodes: [] })
    const kinds = (state: State, message: Message) => feed(state, message)[1].map((it) => it.do)
    t.same(kinds(empty, register()), ['store', 'tell'])
    t.same(kinds(loaded(), register()), ['welcome', 'tell'])
    t.same(kinds(loaded(), register({ pid: 7 })), ['store', 'tell'])
    t.match(nodeOf(feed(loaded(), register())[0])?.heard, {
      seq: 1,
      at: 10,
      files: [file],
      installs: [],
    })
    const bare = register({ report: report(1) })
    t.match(nodeOf(feed(loaded(), bare)[0])?.heard, { files: [], installs: [] })
    t.match(
      nodeOf(feed(loaded(), register(), bare)[0])?.heard,
      { files: [file] },
      'the same boot (ND6)',
    )
  },
)

t.test('a node speaks for itself only', async (t) => {
  const wrong = [
    register({}, 'n2'),
    register({ report: report(1, { boot: 'b2' }) }),
    register({ report: report(1, { node: 'n2' }) }),
  ]
  for (const message of wrong) {
    t.match(feed(loaded(), message)[1], [{ do: 'refuse', failure: { code: 'LLMGW_BAD_MESSAGE' } }])
  }
  const [state] = feed(loaded(), register())
  t.same(feed(state, reported(report(2), 20, 'n2')), [state, []])
  t.same(feed(state, router(20, 'r1', 'r2')), [state, []])
})

t.test('files and installs stay when a report leaves them out (ND6)', async (t) => {
  const [state] = feed(loaded(), register(), reported(report(2), 20))
  t.match(nodeOf(state)?.heard, { seq: 2, at: 20, files: [file] })
  const [next, effects] = feed(state, reported(report(3, { files: [], installs: [] }), 30))
  t.same(nodeOf(next)?.heard?.files, [])
  t.same(
    effects.map((it) => it.do),
    ['tell'],
  )
  t.same(feed(next, reported(report(3), 40)), [next, []], 'a report that comes twice says nothing')
})

t.test(
  'a node that is not known as it reports is asked to register, at most each 2 s',
  async (t) => {
    const unknown = [
      reported(report(5), 100), // not heard in this leadership
      reported(report(5, { boot: 'b2' }), 100),
      reported(report(5, { node: 'n9' }), 100),
    ]
    for (const message of unknown) t.match(feed(loaded(), message)[1], [{ do: 'ask' }])
    const [state] = feed(loaded(), reported(report(5), 100))
    t.same(feed(state, reported(report(6), 2099))[1], [])
    t.match(feed(state, reported(report(7), 2100))[1], [{ do: 'ask', node: 'n1', boot: 'b1' }])
  },
)

t.test(
  'a report that is missing may have told of files: the node is asked to register',
  async (t) => {
    const [state, effects] = feed(loaded(), register(), reported(report(3), 20))
    t.match(effects, [{ do: 'tell' }, { do: 'ask', node: 'n1', boot: 'b1' }])
    t.equal(nodeOf(state)?.heard?.at, 20, 'what it says counts all the same')
  },
)

t.test('routers are known by their reports and forgotten after 30 s of silence', async (t) => {
  const [state] = feed(loaded(), router(10), router(20, 'r2'))
  const routers = (it: State) => (it.phase === 'ready' ? [...it.members.routers.keys()] : [])
  t.same(routers(state), ['r1', 'r2'])
  const [next] = feed(state, router(10 + routerForgottenMs, 'r2'))
  t.same(routers(next), ['r2'])
})
