// The node's agent by table: registration, reports, commands.
import t from 'tap'
import type { Identity, Message } from '../../../../actors/node/protocol.ts'
import { type Effect, init, type State, transition } from '../../../../actors/node/state.ts'
import { failure } from '../../../../kernel/errors.ts'
import type { Hardware } from '../../../../transport/contract/hardware.ts'
import type { Install, NodeFile } from '../../../../transport/contract/node.ts'
import { shardSpec, shardStatus } from '../../../support/shards.ts'

const identity: Identity = {
  node: 'n1',
  boot: 'b1',
  pid: 1,
  version: '0.1.0',
  address: '127.0.0.1',
}
const hardware = { hostname: 'n1' } as Hardware
const load = { memoryAvailableBytes: 1, diskFreeBytes: 1, diskTotalBytes: 1 }
const file: NodeFile = { key: 'k', sizeBytes: 1, sha256: null, header: null, failure: null }
const installed: Install = {
  engine: 'llamacpp',
  version: '1',
  state: 'proven',
  reason: null,
  progress: null,
}

const run = (state: State, ...messages: Message[]): [State, readonly Effect[]] =>
  messages.reduce<[State, readonly Effect[]]>(
    ([at], it) => {
      const [next, effects] = transition(at, it)
      return [next, effects]
    },
    [state, []],
  )
const parts: Message[] = [
  { type: 'hardware', hardware },
  { type: 'load', load },
  { type: 'shards', shards: [] },
  { type: 'files', files: [] },
  { type: 'installs', installs: [] },
]
const first = init(identity)[0]
const [registering] = run(first, { type: 'online' }, ...parts)
const answer = (state: State, token = 3): Message => ({
  type: 'registered',
  attempt: state.link.attempt,
  token,
})
const [registered] = run(registering, answer(registering))
const ready = shardStatus('r1', 'ready')
const sent: object[] = []
const replyTo = (outcome: object): void => void sent.push(outcome)
const command = (it: object, token = 3): Message =>
  ({ type: 'command', command: { token, ...it }, replyTo }) as unknown as Message
const doing = (effects: readonly Effect[]): string[] => effects.map((it) => it.do)

t.test('it listens, ticks, and gives its parts their time', async (t) => {
  t.same(doing(init(identity)[1]), ['begin', 'wait', 'wait'])
})

t.test(
  'ND6: it registers once it is connected and all its parts have told, with whole lists',
  async (t) => {
    t.same(run(first, { type: 'online' }, ...parts.slice(0, 4))[1], [])
    const [state, effects] = run(first, ...parts, { type: 'online' })
    t.equal(state.link.phase, 'registering')
    t.match(effects, [
      {
        do: 'register',
        registration: { ...identity, report: { seq: 1, files: [], installs: [] } },
      },
    ])
    t.same(
      run(first, { type: 'online' }, ...parts)[1],
      effects.map((it) => ({ ...it })),
    )
  },
)

t.test('EN2: engines that are looked for delay a registration, but not for ever', async (t) => {
  const looking: Message = { type: 'shards', shards: [shardStatus('r1', 'looking')] }
  const [state, effects] = run(first, ...parts, looking, { type: 'online' })
  t.same([state.link.phase, effects], ['waiting', []])
  t.equal(run(state, { type: 'shards', shards: [ready] })[0].link.phase, 'registering')
  t.equal(run(state, { type: 'settled' })[0].link.phase, 'registering')
  const early = run(first, { type: 'online' }, { type: 'settled' })[0]
  t.equal(early.link.phase, 'waiting', 'without hardware there is nothing to register')
  const [late, registers] = run(early, ...parts.slice(0, 2))
  t.equal(late.link.phase, 'registering')
  t.match(registers, [{ registration: { report: { files: [], installs: [], shards: [] } } }])
})

t.test(
  'a registration without an answer is sent again, at growing delays up to two seconds',
  async (t) => {
    let state = registering
    const delays: number[] = []
    for (let count = 0; count < 5; count += 1) {
      const { attempt } = state.link
      const [next, effects] = run(state, {
        type: 'unregistered',
        attempt,
        failure: failure('LLMGW_NO_LEADER'),
      })
      for (const it of effects) if (it.do === 'wait') delays.push(it.delayMs)
      state = run(next, { type: 'due', attempt: next.link.attempt })[0]
      t.equal(state.link.phase, 'registering')
    }
    t.same(delays, [250, 500, 1000, 2000, 2000])
  },
)

t.test('answers to earlier registrations change nothing', async (t) => {
  const late: Message[] = [
    { type: 'registered', attempt: 0, token: 9 },
    { type: 'unregistered', attempt: 0, failure: failure('LLMGW_NO_LEADER') },
    { type: 'due', attempt: 0 },
    { type: 'due', attempt: registering.link.attempt },
  ]
  for (const it of late) t.same(run(registering, it), [registering, []])
})

t.test('an answer under an older leadership than one that was seen is none', async (t) => {
  const [state] = run({ ...registering, token: 5 }, answer(registering, 4))
  t.equal(state.link.phase, 'pausing')
  t.equal(run(state, { type: 'load', load })[0].link.phase, 'pausing', 'news do not cut it short')
})

t.test('the highest leadership is kept', async (t) => {
  t.same(run(registering, answer(registering))[1], [{ do: 'keep-token', token: 3 }])
  t.equal(run(first, { type: 'recalled', token: 7 })[0].token, 7)
})

t.test(
  'it reports each second while registered, and its lists only when they changed',
  async (t) => {
    const [state, effects] = run(registered, { type: 'tick' })
    t.match(effects, [{ do: 'report', report: { seq: 2, load } }, { do: 'wait' }])
    const listed = (of: readonly Effect[]): boolean[] =>
      of.flatMap((it) =>
        it.do === 'report' ? ['files' in it.report, 'installs' in it.report] : [],
      )
    t.same(listed(effects), [false, false])
    const [changed] = run(
      state,
      { type: 'files', files: [file] },
      { type: 'installs', installs: [installed] },
    )
    const [told, reports] = run(changed, { type: 'tick' })
    t.match(reports, [{ report: { seq: 3, files: [file], installs: [installed] } }, {}])
    t.same(listed(run(told, { type: 'tick' })[1]), [false, false])
    t.same(doing(run(registering, { type: 'tick' })[1]), ['wait'])
  },
)

t.test('a shard that changes its phase is reported at once', async (t) => {
  const [state, effects] = run(registered, { type: 'shards', shards: [ready] })
  t.match(effects, [{ do: 'report', report: { shards: [ready] } }])
  t.same(run(state, { type: 'shards', shards: [{ ...ready, running: 1 }] })[1], [])
})

t.test(
  'ND6: a new connection, and a leader who asks, make it register anew with both lists',
  async (t) => {
    const [offline, none] = run(registered, { type: 'offline' })
    t.same([offline.link.phase, none], ['offline', []])
    const both = { registration: { report: { files: [], installs: [] } } }
    t.match(run(offline, { type: 'online' })[1], [{ do: 'register', ...both }])
    t.match(run(registered, command({ type: 'register' }))[1], [
      { do: 'answer' },
      { do: 'register', ...both },
    ])
    t.same(doing(run(registering, command({ type: 'register' }))[1]), ['keep-token', 'answer'])
  },
)

t.test('commands are taken and handed on', async (t) => {
  const { key: _, ...rest } = shardSpec('r1')
  const spec = shardSpec('r1')
  t.match(run(registered, command({ type: 'start', ...rest, key: spec.key }))[1], [
    { do: 'answer', outcome: { ok: true, value: { taken: true } } },
    { do: 'shards', message: { type: 'start', spec } },
  ])
  t.match(run(registered, command({ type: 'stop', replica: 'r1' }))[1], [
    { do: 'answer' },
    { do: 'shards', message: { type: 'stop', replica: 'r1' } },
  ])
  const [, fetch] = run(registered, command({ type: 'fetch', artifact: spec.artifact }))[1]
  t.match(fetch, { do: 'files', message: { type: 'fetch', artifact: spec.artifact } })
  if (fetch?.do === 'files' && fetch.message.type === 'fetch') {
    fetch.message.replyTo({ type: 'failed', failure: failure('LLMGW_NO_LEADER') })
  }
})

t.test('a command of an older leadership is refused; one of a newer is kept in mind', async (t) => {
  t.match(run(registered, command({ type: 'stop', replica: 'r1' }, 2)), [
    registered,
    [{ do: 'answer', outcome: { ok: false, error: { code: 'LLMGW_STALE_COMMAND' } } }],
  ])
  t.match(run(registered, command({ type: 'stop', replica: 'r1' }, 4))[1], [
    { do: 'keep-token', token: 4 },
    { do: 'answer' },
    { do: 'shards' },
  ])
})

t.test('logs are read where they are asked for', async (t) => {
  const ask: Message = { type: 'logs', replica: 'r1', lines: 5, replyTo: () => {} }
  t.same(run(first, ask)[1], [{ do: 'logs', command: ask }])
})

t.test('messages and commands that are none are faults of the program', async (t) => {
  t.throws(() => run(first, { type: 'wrong' } as unknown as Message))
  t.throws(() => run(registered, command({ type: 'wrong' })))
})
