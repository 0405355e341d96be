// What is installed, and who is told: every message in every phase.
import t from 'tap'
import type {
  Message,
  ProvisionEvent,
  Ready,
  Verdict,
} from '../../../../../actors/node/provision/protocol.ts'
import {
  type Effect,
  init,
  type State,
  transition,
} from '../../../../../actors/node/provision/state.ts'
import { llamacpp } from '../../../../../engines/llamacpp.ts'
import { failure } from '../../../../../kernel/errors.ts'
import type { Install } from '../../../../../transport/contract/node.ts'

const engine = 'llamacpp'
const one = (_: ProvisionEvent): void => {}
const two = (_: ProvisionEvent): void => {}
const ready: Ready = { version: 'x 1', argv: ['/e/bin/python', 'launcher.py'], note: null }
const other: Ready = { version: 'y 2', argv: ['/bin/llama-server'], note: 'x 1 is not used: cpu' }
const unproven: Verdict = { engine, version: 'x 1', state: 'unproven', reason: null }
const proven: Verdict = { ...unproven, state: 'proven' }
const refusedOne: Verdict = { ...unproven, state: 'refused', reason: 'cpu' }
const progress = { what: 'fetching uv', doneBytes: 1, totalBytes: 2, bytesPerSecond: null }
const broken = failure('LLMGW_INSTALL_FAILED', { engine, tried: 'Tried: no' })

const ensure = (replyTo: typeof one): Message => ({ type: 'ensure', engine, replyTo })
const recalled = (...verdicts: Verdict[]): Message => ({ type: 'recalled', verdicts })
const installed = (attempt: number, it = ready): Message => ({
  type: 'installed',
  engine,
  attempt,
  ready: it,
})
const missed = (attempt: number): Message => ({ type: 'missed', engine, attempt, failure: broken })
const progressed = (attempt: number): Message => ({ type: 'progressed', engine, attempt, progress })
const refused: Message = { type: 'refused', engine, reason: 'cpu' }
const proved: Message = { type: 'proved', engine }

function after(...messages: Message[]): readonly [State, readonly Effect[]] {
  let step = init()
  for (const message of messages) step = transition(step[0], message)
  return step
}
const install = (attempt: number, ...verdicts: Verdict[]): Effect => ({
  do: 'install',
  engine,
  attempt,
  forms: llamacpp.installs,
  refused: verdicts,
})
const say = (...installs: Partial<Install>[]): Effect => ({
  do: 'say',
  event: {
    type: 'changed',
    installs: installs.map((it) => ({
      engine,
      version: '',
      state: 'unproven',
      reason: null,
      progress: null,
      ...it,
    })),
  },
})
const remember = (...verdicts: Verdict[]): Effect => ({ do: 'remember', verdicts })
const tell = (to: typeof one, event: ProvisionEvent): Effect => ({ do: 'tell', to, event })
const readyEvent: ProvisionEvent = {
  type: 'ready',
  engine,
  version: ready.version,
  argv: ready.argv,
}

t.test('it begins by recalling what is known of builds, and tells it', async (t) => {
  t.same(init()[1], [{ do: 'recall' }])
  t.same(after(recalled(proven))[1], [say(proven)])
})

t.test(
  'what is asked before that waits for it, since a refused build must not be run',
  async (t) => {
    t.same(after(ensure(one))[1], [])
    t.same(after(ensure(one), ensure(two), recalled(refusedOne))[1], [
      say(refusedOne),
      install(1, refusedOne),
    ])
  },
)

t.test('what cannot be recalled is a crash, to be tried again', async (t) => {
  t.throws(() => after({ type: 'unrecalled', reason: 'no folder' }), /no folder/)
})

t.test('facts of an incarnation before, or of another install, change nothing', async (t) => {
  for (const fact of [installed(1), missed(1), progressed(1), proved, refused]) {
    t.same(after(fact), [{ phase: 'recalling', asked: [] }, []])
    t.same(after(recalled(), fact)[1], [], `${fact.type} without a job or build`)
  }
  for (const fact of [installed(9), missed(9), progressed(9)]) {
    t.same(after(recalled(), ensure(one), fact)[1], [])
  }
  t.same(after(recalled(), recalled(proven))[1], [])
  t.same(after(recalled(), { type: 'unrecalled', reason: 'late' })[1], [])
})

t.test('an engine that nobody knows is refused by name', async (t) => {
  const [, effects] = after(recalled(), { type: 'ensure', engine: 'no-such', replyTo: one })
  const details = { engine: 'no-such', known: 'llamacpp' }
  t.same(effects, [
    tell(one, { type: 'failed', failure: failure('LLMGW_ENGINE_UNKNOWN', details) }),
  ])
})

t.test('who asks for an engine that is being installed shares it, progress included', async (t) => {
  t.same(after(recalled(), ensure(one), ensure(two))[1], [])
  t.same(after(recalled(), ensure(one), progressed(1))[1], [
    tell(one, { type: 'progress', progress }),
    say({ state: 'installing', progress }),
  ])
  t.same(after(recalled(), ensure(one), progressed(1), ensure(two))[1], [
    tell(two, { type: 'progress', progress }),
  ])
})

t.test('a new build is unproven until it loaded a model, and that is remembered', async (t) => {
  const [state, effects] = after(recalled(), ensure(one), ensure(two), installed(1))
  t.same(effects, [remember(unproven), tell(one, readyEvent), tell(two, readyEvent), say(unproven)])
  const [good, changes] = transition(state, proved)
  t.same(changes, [remember(proven), say(proven)])
  t.same(transition(good, proved)[1], [], 'said twice')
  const again = transition(good, ensure(one))
  t.same(transition(again[0], installed(2))[1][0], remember(proven), 'it stays proven')
})

t.test('a refused build is not handed out again: the next form is', async (t) => {
  const [state, effects] = after(recalled(), ensure(one), installed(1), refused)
  t.same(effects, [remember(refusedOne), say(refusedOne)])
  const [asked, begun] = transition(state, ensure(one))
  t.same(begun, [install(2, refusedOne)])
  const second: Verdict = { ...unproven, version: 'y 2', reason: other.note }
  const [used, told] = transition(asked, installed(2, other))
  t.same(told.at(-1), say(refusedOne, second))
  t.same(transition(used, proved)[1].at(-1), say(refusedOne, { ...second, state: 'proven' }))
})

t.test('a build that was refused while it was made ready is not handed out', async (t) => {
  const [, effects] = after(recalled(unproven), ensure(one), refused, installed(1))
  t.same(effects, [install(2, refusedOne)])
})

t.test(
  'EN9: a failure is told, stands in the list, and the next who asks tries again',
  async (t) => {
    const [state, effects] = after(recalled(), ensure(one), progressed(1), missed(1))
    const failed = { state: 'failed', reason: broken.message } as const
    t.same(effects, [tell(one, { type: 'failed', failure: broken }), say(failed)])
    const [again, begun] = transition(state, ensure(two))
    t.same(begun, [install(2)])
    t.same(transition(again, missed(1))[1], [], 'the end of the first is not that of the second')
    t.same(transition(again, progressed(2))[1].at(-1), say({ state: 'installing', progress }))
    t.same(transition(again, installed(2))[1].at(-1), say(unproven))
  },
)
