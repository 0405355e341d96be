// The keeper of a node's shards by table.
import t from 'tap'
import type { Message } from '../../../../../actors/node/shards/protocol.ts'
import { init, type State, transition } from '../../../../../actors/node/shards/state.ts'
import { shardSpec, shardStatus } from '../../../../support/shards.ts'

const one = shardSpec('r1')
const two = shardSpec('r2')
const run = (state: State, ...messages: Message[]) =>
  messages.reduce<ReturnType<typeof transition>>(([at], it) => transition(at, it), [state, []])
const empty = init('127.0.0.1')[0]
const [started] = run(empty, { type: 'start', spec: one })
const status = shardStatus('r1', 'ready')
const [ready] = run(started, { type: 'changed', replica: 'r1', status })
const ended: Message = { type: 'gone', replica: 'r1', end: { uid: 'u', reason: 'stopped' } }
const broke: Message = {
  type: 'gone',
  replica: 'r1',
  end: { uid: 'u', reason: 'failed', error: new Error('why') },
}
const untold = (replica: string) => shardStatus(replica, 'looking')
const said = (...shards: unknown[]) => ({ do: 'say', event: { type: 'shards', shards } })

t.test('EN2: shards of the run folders are the first', async (t) => {
  t.same(init('127.0.0.1')[1], [{ do: 'scan' }])
  t.same(run(empty, { type: 'scanned', specs: [one, two] })[1], [
    { do: 'spawn', spec: one },
    { do: 'spawn', spec: two },
    said(untold('r1'), untold('r2')),
  ])
  t.same(
    run(started, { type: 'scanned', specs: [one] })[1],
    [said(untold('r1'))],
    'one that was started is there',
  )
})

t.test('a start makes a shard once; after that it is told', async (t) => {
  t.same(run(empty, { type: 'start', spec: one })[1], [{ do: 'spawn', spec: one }])
  const start: Message = { type: 'start', spec: one }
  t.same(run(started, start)[1], [{ do: 'tell', replica: 'r1', message: start }])
})

t.test('each change is said with all shards', async (t) => {
  t.same(run(started, { type: 'changed', replica: 'r1', status })[1], [said(status)])
  t.same(run(empty, { type: 'changed', replica: 'r1', status }), [empty, []])
})

t.test('a shard that was stopped is gone once it has ended', async (t) => {
  t.same(run(ready, { type: 'stop', replica: 'r1' })[1], [
    { do: 'tell', replica: 'r1', message: { type: 'stop' } },
  ])
  t.same(run(ready, ended)[1], [said()])
  t.same(run(empty, { type: 'stop', replica: 'r1' }), [empty, []])
  t.same(run(empty, ended), [empty, []])
})

t.test('a broken shard is reported as failed, and comes back with the next wish', async (t) => {
  const [broken, effects] = run(ready, broke)
  t.match(effects, [said({ replica: 'r1', phase: 'failed', reason: 'its keeper broke: why' })])
  t.same(run(broken, { type: 'start', spec: one })[1], [{ do: 'spawn', spec: one }])
  t.same(run(broken, { type: 'stop', replica: 'r1' })[1], [
    { do: 'spawn', spec: one },
    { do: 'tell', replica: 'r1', message: { type: 'stop' } },
  ])
  const unknown: Message = { ...broke, end: { uid: 'u', reason: 'unknown' } }
  t.match(run(ready, unknown)[1], [said({ reason: /unknown reason/ })])
})

t.test('the end of all is answered when the last has ended, however that went', async (t) => {
  const replyTo = (): void => {}
  const all: Message = { type: 'stop-all', replyTo }
  t.same(run(empty, all)[1], [said(), { do: 'answer', replyTo }])
  const [stopping, effects] = run(ready, all)
  t.same(effects, [{ do: 'tell', replica: 'r1', message: { type: 'stop' } }, said(status)])
  t.same(run(stopping, { type: 'start', spec: two }), [stopping, []])
  t.same(run(stopping, ended)[1], [said(), { do: 'answer', replyTo }])
  t.same(run(stopping, broke)[1], [said(), { do: 'answer', replyTo }])
  t.same(run(stopping, ended, all)[1], [said(), { do: 'answer', replyTo }], 'asked again')
})

t.test('a message that is none is a fault of the program', async (t) => {
  t.throws(() => run(empty, { type: 'wrong' } as unknown as Message))
})
