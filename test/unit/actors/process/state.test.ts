// The life of a process by table: phase and message.
import t from 'tap'
import type { Exit, Message, ProcessSpec } from '../../../../actors/process/protocol.ts'
import { type Effect, init, type State, transition } from '../../../../actors/process/state.ts'
import { newBudget } from '../../../../kernel/restart.ts'

const limits = { intensity: 1, periodMs: 1000, delayMs: { min: 10, max: 100 } }
const budget = newBudget(limits)
const spec: ProcessSpec = { name: 'a', argv: ['/a'], env: {}, cwd: '/', stop: [] }
const other: ProcessSpec = { ...spec, name: 'b' }
const exit: Exit = { code: 1, reason: 'exited with code 1' }

/** Steps through messages; the last state and the effects of the last step. */
const after = (state: State, ...messages: Message[]): readonly [State, readonly Effect[]] =>
  messages.reduce<readonly [State, readonly Effect[]]>(
    ([at], message) => transition(limits, at, message),
    [state, []],
  )
const looking = init()[0]
const running: State = { phase: 'running', attempt: 1, spec, budget, pid: 7 }
const starting: State = { phase: 'starting', attempt: 1, spec, budget }
const stopping: State = { phase: 'stopping', attempt: 1, spec, budget, next: null }
const idle: State = { phase: 'idle', attempt: 1 }
const failed: State = { phase: 'failed', attempt: 1, reason: 'x' }
const waiting: State = { phase: 'waiting', attempt: 2, spec, budget }

t.test('it is ended by the signals of whoever ends it, if any are named', async (t) => {
  const by = [{ signal: 'SIGTERM', afterMs: 0, to: 'process' }] as const
  t.same(after(running, { type: 'stop', by })[1], [{ do: 'end', by }])
})

t.test('it looks first, and launches nothing before the look is over', async (t) => {
  t.same(init()[1], [{ do: 'look', attempt: 1 }])
  t.same(after(looking, { type: 'start', spec })[1], [])
})

t.test('a start that waited for the look launches once nothing was found', async (t) => {
  const [state, effects] = after(looking, { type: 'start', spec }, { type: 'none' })
  t.equal(state.phase, 'starting')
  t.same(effects, [{ do: 'launch', attempt: 2, spec }])
})

t.test(
  'EN2: what is found is adopted, whatever was wanted, and told with its own spec',
  async (t) => {
    const [state, effects] = after(
      looking,
      { type: 'start', spec: other },
      { type: 'found', spec, pid: 7 },
    )
    t.same(state, running)
    t.same(effects, [{ do: 'say', event: { type: 'running', pid: 7, spec, adopted: true } }])
  },
)

t.test('a look that finds nothing and waits for nothing is told', async (t) => {
  t.same(after(looking, { type: 'none' }), [idle, [{ do: 'say', event: { type: 'absent' } }]])
})

t.test('a stop said before the look is over ends what is found', async (t) => {
  t.same(after(looking, { type: 'stop' }, { type: 'none' })[1], [
    { do: 'say', event: { type: 'stopped' } },
  ])
  const found: Message = { type: 'found', spec, pid: 7 }
  t.same(after(looking, { type: 'stop' }, found), [stopping, [{ do: 'end' }]])
  const [state] = after(looking, { type: 'stop' }, { type: 'start', spec: other }, found)
  t.same(state, { ...stopping, next: other })
})

t.test('EN2: where nothing can be known it crashes, and never launches', async (t) => {
  t.throws(() => after(looking, { type: 'unknown', reason: 'record unreadable' }), {
    message: 'record unreadable',
  })
})

t.test('a started process runs; facts of a replaced one change nothing', async (t) => {
  t.same(after(starting, { type: 'started', attempt: 1, pid: 7 }), [
    running,
    [{ do: 'say', event: { type: 'running', pid: 7, spec, adopted: false } }],
  ])
  t.equal(after(starting, { type: 'started', attempt: 9, pid: 8 })[0], starting)
  t.equal(after(running, { type: 'ended', attempt: 0, exit, at: 0 })[0], running)
})

t.test('EN4: an end is followed by a start after a delay, until the budget is spent', async (t) => {
  const [state, effects] = after(running, { type: 'ended', attempt: 1, exit, at: 5 })
  t.equal(state.phase, 'waiting')
  t.same(effects, [
    { do: 'wait', attempt: 2, delayMs: 10 },
    { do: 'say', event: { type: 'restarting', exit, reason: exit.reason, delayMs: 10 } },
  ])
  const due = after(state, { type: 'due', attempt: 2 })
  t.same(due[1], [{ do: 'launch', attempt: 2, spec }])
  t.same(after(due[0], { type: 'ended', attempt: 2, exit, at: 6 }), [
    { phase: 'failed', attempt: 2, reason: exit.reason },
    [{ do: 'say', event: { type: 'failed', exit, reason: exit.reason } }],
  ])
})

t.test('a stop ends what runs or starts, and its end is told as stopped', async (t) => {
  for (const state of [running, starting]) {
    t.same(after(state, { type: 'stop' }), [stopping, [{ do: 'end' }]])
  }
  t.same(after(stopping, { type: 'ended', attempt: 1, exit, at: 0 }), [
    idle,
    [{ do: 'say', event: { type: 'stopped' } }],
  ])
})

t.test('a stop where nothing runs is answered too', async (t) => {
  for (const state of [idle, failed, waiting]) {
    const [next, effects] = after(state, { type: 'stop' })
    t.equal(next.phase, 'idle')
    t.same(effects, [{ do: 'say', event: { type: 'stopped' } }])
  }
})

t.test('a start while it stops is launched after the end, unless a stop follows', async (t) => {
  const replaced = after(stopping, { type: 'start', spec: other })
  t.same(after(replaced[0], { type: 'ended', attempt: 1, exit, at: 0 })[1], [
    { do: 'launch', attempt: 2, spec: other },
  ])
  t.same(after(replaced[0], { type: 'stop' })[0], stopping)
})

t.test('a start out of idle or failed counts its launch on, with a new budget', async (t) => {
  for (const state of [idle, failed]) {
    t.same(after(state, { type: 'start', spec }), [
      { ...starting, attempt: 2 },
      [{ do: 'launch', attempt: 2, spec }],
    ])
  }
})

t.test('what has no meaning in a phase changes nothing', async (t) => {
  const due: Message = { type: 'due', attempt: 1 }
  const cases: [State, Message][] = [
    [looking, due],
    [looking, { type: 'started', attempt: 1, pid: 1 }],
    [looking, { type: 'ended', attempt: 1, exit, at: 0 }],
    [idle, due],
    [failed, due],
    [running, { type: 'start', spec: other }],
    [running, due],
    [waiting, { type: 'ended', attempt: 2, exit, at: 0 }],
    [running, { type: 'started', attempt: 1, pid: 8 }],
    [running, { type: 'found', spec, pid: 8 }],
    [running, { type: 'none' }],
    [running, { type: 'unknown', reason: '' }],
  ]
  for (const [state, message] of cases) t.same(after(state, message), [state, []])
})

t.test('a message or phase that is none of them is a fault of the program', async (t) => {
  const wrong = { type: 'wrong' } as unknown as Message
  for (const state of [looking, running]) t.throws(() => after(state, wrong))
  t.throws(() => after({ phase: 'wrong' } as unknown as State, wrong))
})
