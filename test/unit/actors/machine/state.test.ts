// The machine's decisions, by phase and message.
import t from 'tap'
import type { Message } from '../../../../actors/machine/protocol.ts'
import { init, retryAfterMs, type State, transition } from '../../../../actors/machine/state.ts'
import type { Event, ProcessSpec } from '../../../../actors/process/protocol.ts'

const spec = (name: string, env: Record<string, string> = {}): ProcessSpec => ({
  name,
  argv: [`/bin/${name}`],
  env,
  cwd: '/',
  stop: [],
})
const [store, leader] = [spec('store'), spec('leader')]
const exit = { code: 1, reason: 'exit code 1' }
const running = (it: ProcessSpec, adopted = false): Event => ({
  type: 'running',
  pid: 7,
  spec: it,
  adopted,
})
const said = (program: string, event: Event): Message => ({ type: 'said', program, event })

/** Applies messages in turn and answers the last state and the effects of the last message. */
function after(...messages: Message[]) {
  let [state, effects] = init([store, leader])
  for (const message of messages) [state, effects] = transition(state, message)
  return { state, effects }
}
const both: Message[] = [said('store', running(store)), said('leader', running(leader))]
const phases = (state: State) => state.programs.map((it) => it.phase)

t.test('programs are made and started in order', async (t) => {
  const { effects } = after()
  t.same(
    effects.map((it) => [it.do, 'spec' in it ? it.spec.name : '']),
    [
      ['spawn', 'store'],
      ['start', 'store'],
      ['spawn', 'leader'],
      ['start', 'leader'],
    ],
  )
})

t.test('a running program is told of, with its pid', async (t) => {
  const { state, effects } = after(said('store', running(store)))
  t.same(phases(state), ['running', 'pending'])
  t.same(effects, [{ do: 'say', event: { type: 'running', program: 'store', pid: 7 } }])
})

t.test(
  'an adopted program of another specification is replaced, without what it started',
  async (t) => {
    const old = {
      ...spec('store', { LLMGW_CONFIG_DIGEST: 'old' }),
      stop: [
        { signal: 'SIGINT', afterMs: 0, to: 'process' },
        { signal: 'SIGKILL', afterMs: 9, to: 'group' },
      ],
    } as const
    const { state, effects } = after(said('store', running(old, true)))
    t.same(phases(state), ['replacing', 'pending'])
    const by = [
      { signal: 'SIGTERM', afterMs: 0, to: 'process' },
      { signal: 'SIGKILL', afterMs: 9, to: 'group' },
    ]
    t.same(effects, [{ do: 'replace', spec: store, by }])
    const next = transition(state, said('store', { type: 'stopped' }))
    t.same(phases(next[0]), ['pending', 'pending'])
    t.same(next[1], [{ do: 'start', spec: store }])
  },
)

t.test('an adopted program stays though its supervisor was started in another shell', async (t) => {
  const old = spec('store', { PATH: '/npm/bin:/bin', HOME: '/root', LANG: 'C' })
  t.same(phases(after(said('store', running(old, true))).state), ['running', 'pending'])
  const proxied = spec('store', { HTTPS_PROXY: 'http://other' })
  t.same(phases(after(said('store', running(proxied, true))).state), ['replacing', 'pending'])
})

t.test('a program that ends unasked is told of; its keeper starts it again', async (t) => {
  const event: Event = { type: 'restarting', exit, reason: exit.reason, delayMs: 1 }
  const { state, effects } = after(...both, said('store', event))
  t.same(phases(state), ['running', 'running'])
  t.same(effects, [
    { do: 'say', event: { type: 'restarting', program: 'store', reason: 'exit code 1' } },
  ])
})

t.test('a program past its budget is started anew after a pause', async (t) => {
  const failed = said('leader', { type: 'failed', exit, reason: 'exit code 1' })
  const { state, effects } = after(...both, failed)
  t.same(phases(state), ['running', 'failed'])
  t.same(effects.at(-1), { do: 'wait', program: 'leader', delayMs: retryAfterMs })
  const due = after(...both, failed, { type: 'due', program: 'leader' })
  t.same(due.effects, [{ do: 'start', spec: leader }])
  t.same(after(...both, { type: 'due', program: 'leader' }).effects, [], 'not one that runs')
})

t.test('programs are ended in reverse order, one after the other', async (t) => {
  const stop: Message = { type: 'stop' }
  t.same(after(...both, stop).effects, [{ do: 'end', spec: leader }])
  t.same(after(...both, stop, said('leader', { type: 'stopped' })).effects, [
    { do: 'say', event: { type: 'ended', program: 'leader' } },
    { do: 'end', spec: store },
  ])
  const all = after(
    ...both,
    stop,
    said('leader', { type: 'stopped' }),
    said('store', { type: 'stopped' }),
  )
  t.equal(all.state.phase, 'ended')
  t.same(all.effects.at(-1), { do: 'say', event: { type: 'stopped' } })
})

t.test('what had failed does not hold up the end', async (t) => {
  const failed = said('leader', { type: 'failed', exit, reason: 'exit code 1' })
  t.same(after(...both, failed, { type: 'stop' }).effects, [{ do: 'end', spec: store }])
  t.same(
    after(...both, { type: 'stop' }, failed).effects.at(-1),
    { do: 'end', spec: store },
    'also where it fails while it is being ended',
  )
})

t.test('a program whose keeper began anew is started again', async (t) => {
  const { state, effects } = after(...both, said('store', { type: 'absent' }))
  t.same(phases(state), ['pending', 'running'])
  t.same(effects, [{ do: 'start', spec: store }])
})

t.test('what comes late or from elsewhere changes nothing', async (t) => {
  const stop: Message = { type: 'stop' }
  for (const messages of [
    [said('other', running(spec('other')))],
    [stop, stop],
    [stop, said('leader', running(leader))],
    [stop, { type: 'due', program: 'store' }],
  ] as Message[][]) {
    t.same(after(...both, ...messages).effects, [], messages.map((it) => it.type).join())
  }
  const gone: Message[] = ['leader', 'store'].map((it) => said(it, { type: 'stopped' }))
  t.same(after(...both, stop, ...gone, said('store', running(store))).effects, [])
  const ended = after(...both, said('store', { type: 'stopped' }))
  t.same([phases(ended.state), ended.effects], [['ended', 'running'], []])
  const unasked = after(...both, said('other', { type: 'stopped' }))
  t.same(unasked.effects, [])
})

t.test('what is no message and no event is a crash', async (t) => {
  t.throws(() => after({ type: 'other' } as never))
  t.throws(() => after(said('store', { type: 'other' } as never)))
})
