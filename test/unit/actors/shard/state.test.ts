// The life of a shard by table: phase and message.
import t from 'tap'
import type { Event as ProcessEvent, ProcessSpec } from '../../../../actors/process/protocol.ts'
import type { Effect, Setting, State } from '../../../../actors/shard/phases.ts'
import type { Measure, Message, Saved, ShardSpec } from '../../../../actors/shard/protocol.ts'
import { init, transition } from '../../../../actors/shard/state.ts'
import { statusOf, told } from '../../../../actors/shard/status.ts'
import { llamacpp } from '../../../../engines/llamacpp.ts'
import { failure } from '../../../../kernel/errors.ts'
import { shardSpec } from '../../../support/shards.ts'

const setting: Setting = {
  engineOf: (name) => (name === 'llamacpp' ? llamacpp : undefined),
  host: '127.0.0.1',
}
const spec = shardSpec('r1', 'key-of-the-engine')
const other: ShardSpec = { ...spec, profile: { ...spec.profile, slots: 2 } }
const saved: Saved = { version: 1, spec, port: 20_001, engineVersion: '1', fileBytes: 5 }
const process: ProcessSpec = { name: 'r1', argv: ['/e'], env: {}, cwd: '/', stop: [] }

const said = (event: ProcessEvent): Message => ({ type: 'process', event })
const absent = said({ type: 'absent' })
const running = said({ type: 'running', pid: 7, spec: process, adopted: false })
const stopped = said({ type: 'stopped' })
const lost = (code: number | null): Message => {
  const reason = `exited with code ${code}`
  return said({ type: 'failed', exit: { code, reason }, reason })
}
const recalled: Message = { type: 'recalled', saved }

/** Facts about the attempt of the state that they meet. */
type Late = (attempt: number) => Message
const engineReady: Late = (attempt) => ({
  type: 'engine',
  attempt,
  at: 0,
  event: { type: 'ready', engine: 'llamacpp', version: '1', argv: ['/python', 'launcher'] },
})
const fileDone: Late = (attempt) => ({
  type: 'file',
  attempt,
  at: 0,
  event: {
    type: 'done',
    file: { key: 'k', path: '/models/smol.gguf', sizeBytes: 5, sha256: null, header: null },
  },
})
const reserved: Late = (attempt) => ({
  type: 'reserved',
  attempt,
  place: { port: 20_001, homeDir: '/home', path: '/bin' },
})
type Readiness = Extract<Message, { type: 'probed' }>['readiness']
const probed =
  (readiness: Readiness): Late =>
  (attempt) => ({ type: 'probed', attempt, readiness })
const measured =
  (answered: boolean, more: Partial<Measure> = {}, at = 0): Late =>
  (attempt) => ({
    type: 'measured',
    attempt,
    at,
    measure: {
      answered,
      running: answered ? 2 : null,
      waiting: null,
      progress: null,
      compute: 'cpu',
      ...more,
    },
  })
const tried =
  (token: boolean, at: number): Late =>
  (attempt) => ({ type: 'tried', attempt, at, token })
const examined =
  (lines: string[] = [], portTaken = false, at = 0): Late =>
  (attempt) => ({ type: 'examined', attempt, at, lines, portTaken })
const due: Late = (attempt) => ({ type: 'due', attempt })
const late: Late = (attempt) => ({ type: 'late', attempt })
const setback =
  (code: 'LLMGW_DISK_FULL' | 'LLMGW_MAILBOX_FULL'): Late =>
  (attempt) => ({ type: 'setback', attempt, at: 0, failure: failure(code) })

const run = (state: State, ...messages: (Message | Late)[]): [State, readonly Effect[]] =>
  messages.reduce<[State, readonly Effect[]]>(
    ([at], message) => {
      const one = typeof message === 'function' ? message(at.attempt) : message
      const [next, effects] = transition(setting, at, one)
      return [next, effects]
    },
    [state, []],
  )
const looking = init(spec)[0]
const [installing] = run(looking, { type: 'recalled', saved: null }, absent)
const [fetching] = run(installing, engineReady)
const [starting] = run(fetching, fileDone, reserved)
const [loading] = run(starting, running)
const [ready] = run(loading, probed('ready'))
const [restarting] = run(ready, lost(1), examined())
const [stopping] = run(ready, { type: 'stop' })
const doing = (effects: readonly Effect[]): string[] => effects.map((it) => it.do)

t.test('it finds its process first', async (t) => {
  t.same(init(spec)[1], [{ do: 'find' }])
})

t.test('EN5: from nothing to ready: engine, file, port, process, probes', async (t) => {
  t.equal(installing.phase, 'installing')
  t.same(run(looking, absent)[1], [{ do: 'ensure', attempt: 1, engine: 'llamacpp' }])
  t.same(run(installing, engineReady)[1], [{ do: 'fetch', attempt: 1, artifact: spec.artifact }])
  t.same(run(fetching, fileDone)[1], [
    { do: 'reserve', attempt: 1, modelPath: '/models/smol.gguf' },
  ])
  t.equal(starting.phase, 'starting')
  t.equal(loading.phase, 'loading')
  t.same(
    run(starting, running)[1].map((it) => it.do),
    ['wait', 'probe'],
  )
  for (const readiness of ['starting', 'loading'] as const) {
    t.same(run(loading, probed(readiness)), [
      loading,
      [{ do: 'wait', message: { type: 'due', attempt: 1 }, delayMs: 200 }],
    ])
  }
  t.same(doing(run(loading, due)[1]), ['probe'])
  t.equal(ready.phase, 'ready')
  t.same(doing(run(loading, probed('ready'))[1]), ['prove', 'measure'])
})

t.test('an engine that has a user of its own runs as it, and finds a name for it', async (t) => {
  const user = { uid: 60_600, gid: 60_600 }
  const place = { port: 20_001, homeDir: '/home', path: '/bin', user }
  const [launch] = run(fetching, fileDone, (attempt) => ({ type: 'reserved', attempt, place }))[1]
  if (launch?.do !== 'launch') throw new Error('no launch')
  t.match(launch.process, { user, env: { USER: 'llmgw-engine', LOGNAME: 'llmgw-engine' } })
})

t.test(
  'EN6: the key is in the environment of the process and not among its arguments',
  async (t) => {
    const [launch] = run(fetching, fileDone, reserved)[1]
    if (launch?.do !== 'launch') throw new Error('no launch')
    t.same(launch.saved, saved)
    t.same(launch.process.argv.slice(0, 2), ['/python', 'launcher'])
    t.notOk(launch.process.argv.join(' ').includes(spec.key))
    t.equal(launch.process.env['LLAMA_API_KEY'], spec.key)
    t.same(Object.keys(launch.process.env).sort(), [
      'HOME',
      'LANG',
      'LLAMA_API_KEY',
      'OMP_WAIT_POLICY',
      'PATH',
      'TMPDIR',
    ])
    t.ok(launch.process.stop.every((it) => it.to === 'group'))
  },
)

t.test(
  'EN2: a process that was left is kept with its pid and port, and counts as looked for until it answers',
  async (t) => {
    const [adopted, effects] = run(looking, recalled, running)
    t.same(doing(effects), ['wait', 'probe'])
    const status = statusOf('127.0.0.1', adopted)
    t.match(status, { phase: 'looking', pid: 7, port: 20_001, engineVersion: '1' })
    const [again] = run(adopted, probed('ready'))
    t.match(statusOf('127.0.0.1', again), { phase: 'ready', pid: 7, port: 20_001, restarts: 0 })
  },
)

t.test(
  'a process that was left is replaced where its port or definition or engine is not known',
  async (t) => {
    const strange: ShardSpec = { ...spec, engine: 'strange' }
    const cases: [State, Message][] = [
      [looking, { type: 'recalled', saved: null }],
      [looking, { type: 'recalled', saved: { ...saved, spec: other } }],
      [init(strange)[0], { type: 'recalled', saved: { ...saved, spec: strange } }],
    ]
    for (const [state, message] of cases) {
      const [next, effects] = run(state, message, running)
      t.match(next, { phase: 'stopping', next: state.spec })
      t.same(effects, [{ do: 'end' }])
    }
  },
)

t.test('EN4: a crash is examined, then followed by a start after a growing delay', async (t) => {
  const [falling, effects] = run(ready, lost(1))
  t.same(effects, [{ do: 'examine', attempt: 1, port: 20_001, key: spec.key }])
  t.match(statusOf('h', falling), { phase: 'restarting', reason: /exited with code 1/, pid: null })
  const [next, after] = run(falling, examined(['one', 'two']))
  t.match(next, {
    phase: 'restarting',
    restarts: 1,
    reason: 'The engine exited with code 1.\none\ntwo',
  })
  t.same(after, [{ do: 'wait', message: { type: 'due', attempt: 2 }, delayMs: 500 }])
  t.match(run(next, due)[0], { phase: 'installing', attempt: 2 })
})

t.test('EN4: past the budget it is failed, with the last log lines as its reason', async (t) => {
  let state = ready
  const delays: number[] = []
  for (let crash = 0; crash < 6; crash += 1) {
    const [next, effects] = run(state, lost(1), examined(['last words']))
    for (const it of effects) if (it.do === 'wait') delays.push(it.delayMs)
    state = next
    if (next.phase === 'restarting') {
      state = run(next, due, engineReady, fileDone, reserved, running)[0]
    }
  }
  t.same(delays, [500, 1000, 2000, 4000, 8000])
  t.match(state, { phase: 'failed', restarts: 5, reason: /last words$/ })
})

t.test(
  'what the log says is told in words, and not tried again where that is of no use',
  async (t) => {
    const [broken] = run(loading, lost(1), examined(['gguf_init: invalid magic characters: x']))
    t.match(broken, { phase: 'failed', reason: /is not a GGUF file/ })
    const [again] = run(loading, lost(1), examined(['failed to load model']))
    t.match(again, { phase: 'restarting', reason: /could not load the model/ })
  },
)

t.test('a port that somebody took is no crash: another is tried, five times', async (t) => {
  let [state] = run(loading, lost(1), examined([], true))
  t.match(state, { phase: 'installing', restarts: 0, portsTried: 1 })
  for (let port = 1; port < 5; port += 1) {
    state = run(state, engineReady, fileDone, reserved, running, lost(1), examined([], true))[0]
  }
  t.match(state, { phase: 'installing', portsTried: 5 })
  state = run(state, engineReady, fileDone, reserved, running, lost(1), examined([], true))[0]
  t.match(state, { phase: 'restarting', restarts: 1, reason: /Every port/ })
})

t.test('a stranger who answers on the port makes it end its engine and take another', async (t) => {
  const [falling, effects] = run(loading, probed('stranger'))
  t.same(effects, [{ do: 'end' }])
  t.match(run(falling, stopped, examined())[0], { phase: 'installing', restarts: 0 })
})

t.test('an engine that dies by signal 4 before it was ready is refused for this CPU', async (t) => {
  const [failed, effects] = run(loading, lost(132), examined())
  t.match(failed, { phase: 'failed', reason: /another CPU/ })
  t.match(effects, [{ do: 'refuse', engine: 'llamacpp' }])
  t.equal(run(ready, lost(132), examined())[0].phase, 'restarting', 'later it is a crash')
})

t.test('an engine that does not get ready in time is ended and started again', async (t) => {
  const [falling, effects] = run(loading, late)
  t.same(effects, [{ do: 'end' }])
  const [, examine] = run(falling, stopped)
  t.same(doing(examine), ['examine'])
  t.match(run(falling, stopped, examined())[0], { phase: 'restarting', reason: /in time/ })
})

t.test('a ready engine is looked at every second; what it does not tell is unknown', async (t) => {
  const [state, effects] = run(ready, measured(true))
  t.match(state, { running: 2, waiting: null, compute: 'cpu', misses: 0 })
  t.same(effects, [{ do: 'wait', message: { type: 'due', attempt: 1 }, delayMs: 1000 }])
  t.same(doing(run(state, due)[1]), ['measure'])
  t.match(run(state, measured(false))[0], { running: null, misses: 1 })
})

t.test('a ready engine that leaves thirty looks unanswered is started again', async (t) => {
  let state = ready
  for (let look = 0; look < 30; look += 1) state = run(state, measured(false))[0]
  t.equal(state.phase, 'ready')
  t.match(run(state, measured(false)), [{ phase: 'falling' }, [{ do: 'end' }]])
})

const allowedMs = llamacpp.stalledAfterMs(saved.fileBytes, spec.profile.cores)
/** A look at `at` that meets `progress` and running requests. */
const standing = (progress: number | null, at: number, running: number | null = 1): Late =>
  measured(true, { progress, running }, at)
const [stalled] = run(ready, standing(5, 0), standing(5, allowedMs))

t.test(
  'an engine whose progress stands while requests run is asked for one token, once',
  async (t) => {
    const [before, early] = run(ready, standing(5, 0), standing(5, allowedMs - 1))
    t.same(doing(early), ['wait'], 'not before its time')
    const [asked, effects] = run(before, standing(5, allowedMs))
    t.match(effects, [
      { do: 'try', attempt: 1, target: { model: 'smol', port: 20_001, key: spec.key } },
      { do: 'wait', delayMs: 1000 },
    ])
    t.same(doing(run(asked, standing(5, 2 * allowedMs))[1]), ['wait'], 'one at a time')
  },
)

t.test(
  'an engine that makes no token either, and still stands at the next look, is started again within its budget',
  async (t) => {
    const [failed, none] = run(stalled, tried(false, allowedMs + 30_000))
    t.match([failed.phase, none], ['ready', []], 'what moved meanwhile is seen first')
    t.match(run(failed, standing(6, allowedMs + 31_000))[0], { phase: 'ready', restarts: 0 })
    for (const look of [
      standing(5, allowedMs + 31_000),
      measured(false, {}, allowedMs + 31_000), // it does not answer any more
      measured(true, { running: null }, allowedMs + 31_000), // it does not tell any more
    ]) {
      const [falling, effects] = run(failed, look)
      t.same(effects, [{ do: 'end' }])
      const reason = /no progress with its requests for 91 s and then not one token/
      t.match(statusOf('h', falling), { phase: 'restarting', reason })
      const [next] = run(falling, stopped, examined(['last words']))
      t.match(next, { phase: 'restarting', restarts: 1, reason })
    }
    const [falling] = run(failed, standing(5, allowedMs + 31_000))
    const spentAtMs = [0, 0, 0, 0, 0]
    const spent: State = { ...falling, budget: { ...falling.budget, spentAtMs } }
    t.match(run(spent, stopped, examined())[0], { phase: 'failed', reason: /no progress/ })
  },
)

t.test('progress, a token, or that nothing runs counts as a sign of life', async (t) => {
  const later = allowedMs + 1000
  for (const [why, ...messages] of [
    ['progress', standing(6, later)],
    ['progress from the beginning, of counters that were reset', standing(0, later)],
    ['nothing runs', standing(5, later, 0)],
    ['a token', tried(true, later)],
  ] as const) {
    const [state] = run(stalled, ...messages)
    t.match(state, { phase: 'ready', pace: { at: later, probe: 'none' } }, why)
    t.same(run(state, tried(false, later)), [state, []], `${why}: a late failure is of the past`)
  }
  const [state] = run(stalled, tried(true, later))
  t.same(doing(run(state, standing(5, later + allowedMs - 1))[1]), ['wait'], 'asked sparingly')
  t.same(doing(run(state, standing(5, later + allowedMs))[1]), ['try', 'wait'])
})

t.test('an engine that does nothing is never asked, nor one that does not tell', async (t) => {
  for (const look of [
    (at: number) => standing(5, at, 0),
    (at: number) => standing(null, at),
    (at: number) => standing(5, at, null),
  ]) {
    const [state, effects] = run(ready, look(0), look(10 * allowedMs))
    t.same(doing(effects), ['wait'])
    t.equal(state.phase, 'ready')
  }
})

t.test('progress is reported; failures are tried again unless that is of no use', async (t) => {
  const progress = { what: 'x', doneBytes: 1, totalBytes: 2, bytesPerSecond: null }
  for (const [state, type] of [
    [installing, 'engine'],
    [fetching, 'file'],
  ] as const) {
    const told = (event: object): Message => ({ type, attempt: 1, at: 0, event }) as Message
    t.match(run(state, told({ type: 'progress', progress }))[0], { progress })
    const failed = (code: 'LLMGW_ARTIFACT_UNAVAILABLE' | 'LLMGW_DIGEST_MISMATCH'): Message =>
      told({ type: 'failed', failure: failure(code) })
    t.equal(run(state, failed('LLMGW_ARTIFACT_UNAVAILABLE'))[0].phase, 'restarting')
    t.equal(run(state, failed('LLMGW_DIGEST_MISMATCH'))[0].phase, 'failed')
  }
  t.equal(run(starting, setback('LLMGW_DISK_FULL'))[0].phase, 'failed')
  t.equal(run(installing, setback('LLMGW_MAILBOX_FULL'))[0].phase, 'restarting')
})

t.test(
  'a stop ends the engine, then removes the folder, then ends the shard, from every phase',
  async (t) => {
    const phases = [looking, installing, fetching, starting, loading, ready, restarting]
    for (const state of phases) {
      const [next, effects] = run(state, { type: 'stop' })
      t.equal(next.phase, 'stopping')
      t.same(effects, [{ do: 'end' }])
    }
    t.same(run(stopping, stopped)[1], [{ do: 'wipe' }])
    t.same(run(stopping, stopped, { type: 'wiped' })[1], [{ do: 'finish' }])
  },
)

t.test('a start said twice changes nothing; another definition replaces', async (t) => {
  const start: Message = { type: 'start', spec }
  for (const state of [looking, installing, loading, ready, restarting]) {
    t.same(run(state, start), [state, []])
  }
  const [next, effects] = run(ready, { type: 'start', spec: other })
  t.match(next, { phase: 'stopping', next: other })
  t.same(effects, [{ do: 'end' }])
  t.match(run(next, stopped)[0], { phase: 'installing', spec: other, restarts: 0 })
})

t.test('a start of a failed shard tries it anew', async (t) => {
  const [failed] = run(starting, setback('LLMGW_DISK_FULL'))
  t.match(run(failed, { type: 'start', spec })[0], { phase: 'installing', restarts: 0 })
})

t.test('a start while it stops waits for the end, and a stop takes it back', async (t) => {
  const [next] = run(stopping, { type: 'start', spec })
  t.equal(run(next, stopped)[0].phase, 'installing')
  t.match(run(next, { type: 'stop' })[0], { phase: 'stopping', next: null })
  const [wiping] = run(stopping, stopped, { type: 'start', spec })
  t.equal(run(wiping, { type: 'wiped' })[0].phase, 'installing')
})

t.test(
  'facts of an earlier attempt, and such as have no meaning in a phase, change nothing',
  async (t) => {
    t.same(run(loading, { type: 'late', attempt: 9 }), [loading, []])
    const cases: [State, Message | Late][] = [
      [ready, recalled],
      [ready, absent],
      [ready, running],
      [fetching, running],
      [looking, lost(1)],
      [ready, stopped],
      [ready, said({ type: 'restarting', exit: { code: 1, reason: '' }, reason: '', delayMs: 1 })],
      [ready, engineReady],
      [ready, fileDone],
      [ready, reserved],
      [installing, due],
      [ready, late],
      [ready, setback('LLMGW_DISK_FULL')],
      [ready, probed('ready')],
      [loading, measured(true)],
      [loading, tried(false, 0)],
      [ready, tried(false, 0)],
      [ready, examined()],
      [ready, { type: 'wiped' }],
    ]
    for (const [state, message] of cases) t.same(run(state, message), [state, []])
  },
)

t.test('messages and events that are none of them are faults of the program', async (t) => {
  const wrong = { type: 'wrong' }
  const attempt = { attempt: 1, at: 0, event: wrong }
  const cases: [State, object][] = [
    [ready, wrong],
    [ready, { type: 'process', event: wrong }],
    [installing, { type: 'engine', ...attempt }],
    [fetching, { type: 'file', ...attempt }],
    [loading, { type: 'probed', attempt: 1, readiness: 'wrong' }],
  ]
  for (const [state, message] of cases) t.throws(() => run(state, message as Message))
})

t.test('every change is said to the owner, and only changes', async (t) => {
  t.same(told('h', ready, [ready, []]), [ready, []])
  const [, effects] = told('h', loading, [ready, [{ do: 'end' }]])
  t.match(effects, [{ do: 'end' }, { do: 'say', event: { type: 'changed' } }])
})
