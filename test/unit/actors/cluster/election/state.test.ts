// The election by table: observing, acquiring, renewing, losing.
import fc from 'fast-check'
import t from 'tap'
import type { Instant, Message, Sight } from '../../../../../actors/cluster/election/protocol.ts'
import {
  type Candidate,
  type Effect,
  elapsedAtLeast,
  elapsedAtMost,
  init,
  recordOf,
  type State,
  transition,
} from '../../../../../actors/cluster/election/state.ts'
import {
  candidate,
  LeaseWorld,
  type Mishap,
  timing,
  type Way,
} from '../../../../support/lease-world.ts'

const at = (ms: number): Instant => ({ monotonicMs: ms, bootMs: ms, wallMs: ms })
const me = candidate('me')
const other = candidate('other')
const sight = (more: Partial<Sight> = {}): Sight => ({
  record: recordOf(other, 3),
  revision: 7,
  created: 'once',
  streamLeader: 's1',
  epoch: 1,
  holderDead: false,
  ...more,
})

type Kinds = Effect['do'][]
const kinds = (effects: readonly Effect[]): Kinds => effects.map((it) => it.do)

/** Feeds messages; the state and the last effects. */
function feed(first: State, ...messages: Message[]): [State, readonly Effect[]] {
  let [state, effects]: [State, readonly Effect[]] = [first, []]
  for (const message of messages) [state, effects] = transition(state, message)
  return [state, effects]
}
const observing = (as: Candidate = me): State => init(as)[0]
const seen = (attempt: number, ms: number, what = sight()): Message => ({
  type: 'seen',
  attempt,
  at: at(ms),
  sight: what,
})
const stored = (attempt: number, sentMs: number, revision: number, ms = sentMs + 10): Message => ({
  type: 'stored',
  attempt,
  sent: at(sentMs),
  at: at(ms),
  revision,
})
const acquiring = (): State =>
  feed(observing(), seen(1, 0, sight({ record: recordOf(other, 3, true) })))[0]
const fencing = (): State => feed(acquiring(), stored(2, 100, 8))[0]
const acting = (): State => feed(fencing(), { type: 'fenced', token: 8 })[0]

t.test('an observer looks each second, and waits for L + G of silence', async (t) => {
  let [state, effects] = init(me)
  t.same(kinds(effects), ['look'])
  for (let second = 0; second < 17; second += 1) {
    ;[state, effects] = transition(state, seen(state.attempt, second * 1000))
    t.match(effects, [{ do: 'wait', delayMs: 1000 }], `second ${second}`)
    ;[state] = transition(state, { type: 'look-due', attempt: state.attempt })
  }
  ;[state, effects] = transition(state, seen(state.attempt, 17_000))
  t.equal(state.phase, 'acquiring')
  t.match(effects, [
    { do: 'store', expect: 7, record: { epoch: 4, holder: { uid: 'me' }, released: false } },
  ])
})

t.test(
  'the wait starts anew whenever the store itself changed, or could not be read',
  async (t) => {
    const changes: Message[] = [
      ...[{ revision: 8 }, { created: 'again' }, { streamLeader: 's2' }, { epoch: 2 }].map((it) =>
        seen(2, 16_000, sight(it)),
      ),
      { type: 'unseen', attempt: 2, at: at(16_000) },
    ]
    for (const change of changes) {
      const [state] = feed(observing(), seen(1, 0), { type: 'look-due', attempt: 1 }, change, {
        type: 'look-due',
        attempt: 2,
      })
      const what = 'sight' in change ? change.sight : sight()
      t.equal(feed(state, seen(3, 17_000, what))[0].phase, 'observing')
    }
  },
)

t.test(
  'what needs no wait: a released lease, a dead holder, an own record, a fresh store',
  async (t) => {
    const goes = (what: Sight, as = me) => feed(observing(as), seen(1, 0, what))
    t.equal(goes(sight())[0].phase, 'observing')
    t.equal(goes(sight({ record: recordOf(other, 3, true) }))[0].phase, 'acquiring')
    t.equal(goes(sight({ holderDead: true }))[0].phase, 'acquiring')
    const absent = sight({ record: null, revision: 0 })
    t.equal(goes(absent)[0].phase, 'observing', 'an absent record waits too')
    const fresh = candidate('me', { freshStore: true })
    const [state, effects] = goes(absent, fresh)
    t.match(effects, [{ do: 'store', expect: 0, record: { epoch: 1 } }])
    t.equal(state.me.freshStore, false, 'a store is fresh once')
    t.match(
      goes(sight({ record: recordOf(me, 3) }))[1],
      [{ record: { epoch: 3 } }],
      'renewed first',
    )
    t.match(goes(sight({ record: recordOf(me, 3, true) }))[1], [{ record: { epoch: 4 } }])
  },
)

t.test('an absent record is acquired after the wait', async (t) => {
  const absent = sight({ record: null, revision: 0 })
  const [state] = feed(
    observing(),
    seen(1, 0, absent),
    { type: 'look-due', attempt: 1 },
    seen(2, 16_500, absent),
  )
  t.equal(state.phase, 'acquiring')
})

t.test('a lost race is looked at again after a random moment', async (t) => {
  for (const type of ['mismatched', 'unanswered'] as const) {
    const [state, effects] = feed(acquiring(), { type, attempt: 2, at: at(1) })
    t.equal(state.phase, 'observing')
    t.match(effects, [{ do: 'wait', delayMs: 200, jitterMs: 300 }])
  }
})

t.test(
  'authority counts from before the send, and the fence is taken before anything else',
  async (t) => {
    const [state, effects] = feed(acquiring(), stored(2, 100, 8, 1100))
    t.match(state, { phase: 'fencing', token: 8 })
    t.match(effects, [
      { do: 'authorize', token: 8, sent: at(100), untilMs: 13_500 },
      { do: 'wait', delayMs: 12_500, message: { type: 'deadline' } },
      { do: 'wait', delayMs: 2500, message: { type: 'renew-due', attempt: 2 } },
      { do: 'fence', token: 8 },
    ])
    t.match(feed(state, { type: 'fenced', token: 8 }), [
      { phase: 'acting' },
      [{ do: 'lead', token: 8 }],
    ])
    t.match(
      feed(acquiring(), stored(2, 100, 8, 13_600)),
      [{ phase: 'observing' }, [{ do: 'wait' }]],
      'an answer that came too late is worth nothing',
    )
  },
)

t.test('a fence that was not taken is tried again while the lease lasts', async (t) => {
  const [state, effects] = feed(fencing(), { type: 'unfenced', token: 8 })
  t.match(effects, [
    { do: 'wait', delayMs: 150, jitterMs: 150, message: { type: 'fence-due', token: 8 } },
  ])
  t.match(feed(state, { type: 'fence-due', token: 8 })[1], [{ do: 'fence', token: 8 }])
  t.match(feed(state, { type: 'deposed', token: 8 }), [
    { phase: 'observing' },
    [{ do: 'revoke' }, { do: 'look' }],
  ])
  for (const type of ['fenced', 'unfenced', 'fence-due'] as const) {
    t.same(feed(state, { type, token: 7 }), [state, []], `${type} of another leadership`)
    t.same(feed(acting(), { type, token: 8 }), [acting(), []], `${type} while acting`)
  }
})

t.test('a holder renews; only an acknowledged renewal moves the deadline', async (t) => {
  const [renewing, effects] = feed(acting(), { type: 'renew-due', attempt: 2 })
  t.match(effects, [{ do: 'store', attempt: 3, expect: 8, record: { epoch: 4 } }])
  t.match(feed(renewing, stored(3, 2600, 9))[0], {
    phase: 'acting',
    token: 8,
    revision: 9,
    sent: at(2600),
  })
  const [waiting, again] = feed(renewing, { type: 'unanswered', attempt: 3, at: at(4100) })
  t.match(again, [{ do: 'wait', delayMs: 150, message: { type: 'renew-due', attempt: 3 } }])
  t.match(waiting, { sent: at(100) })
  const [looking, look] = feed(renewing, { type: 'mismatched', attempt: 3, at: at(4100) })
  t.match(look, [{ do: 'look', attempt: 4 }])
  t.match(feed(looking, { type: 'unseen', attempt: 4, at: at(4200) })[1], [{ do: 'wait' }])
  const mine = sight({ record: recordOf(me, 4), revision: 9 })
  t.match(feed(looking, seen(4, 4200, mine)), [
    { phase: 'acting', revision: 9, sent: at(100) },
    [{ do: 'store', expect: 9 }],
  ])
  for (const record of [recordOf(other, 5), recordOf(me, 3), recordOf(me, 4, true), null]) {
    t.equal(feed(looking, seen(4, 4200, sight({ record })))[0].phase, 'leaving')
  }
})

t.test('a lease is lost at its deadline, on every way to notice it', async (t) => {
  const late = at(13_600)
  const [renewing] = feed(acting(), { type: 'renew-due', attempt: 2 })
  const ways: Message[] = [
    { type: 'unanswered', attempt: 3, at: late },
    { type: 'mismatched', attempt: 3, at: late },
    { type: 'unanswered', attempt: 3, at: { ...at(200), bootMs: 13_600 } },
    { type: 'unanswered', attempt: 3, at: { ...at(200), wallMs: 13_600 } },
    stored(3, 100, 9, 13_600),
    { type: 'deadline', token: 8, sent: 100 },
    { type: 'deposed', token: 8 },
  ]
  for (const way of ways) {
    t.match(feed(renewing, way), [
      { phase: 'leaving' },
      [{ do: 'revoke' }, { do: 'step-down', token: 8 }],
    ])
  }
  t.same(feed(renewing, { type: 'deadline', token: 8, sent: 50 }), [renewing, []], 'renewed since')
  t.same(feed(renewing, { type: 'deadline', token: 7, sent: 100 }), [renewing, []])
  t.same(feed(renewing, { type: 'deposed', token: 7 }), [renewing, []])
})

t.test('a lost lease is observed again only once the subtree is gone', async (t) => {
  const [leaving] = feed(acting(), { type: 'deposed', token: 8 })
  t.same(feed(leaving, { type: 'stepped-down', token: 7 }), [leaving, []])
  t.same(feed(leaving, { type: 'fallen', token: 8, reason: 'stopped' }), [leaving, []])
  t.match(feed(leaving, { type: 'stepped-down', token: 8 }), [
    { phase: 'observing' },
    [{ do: 'look' }],
  ])
})

t.test('a subtree that fell takes the candidate with it', async (t) => {
  t.throws(() => feed(acting(), { type: 'fallen', token: 8, reason: 'too often' }), /too often/)
  t.same(feed(acting(), { type: 'fallen', token: 7, reason: 'old' }), [acting(), []])
})

t.test('messages of other phases and other attempts change nothing', async (t) => {
  const states = [observing(), acquiring(), fencing(), acting()]
  for (const state of states) {
    t.same(feed(state, seen(99, 0)), [state, []])
    t.same(feed(state, { type: 'stepped-down', token: 8 }), [state, []])
  }
  t.same(feed(observing(), { type: 'deposed', token: 8 })[1], [])
  t.same(feed(acquiring(), { type: 'look-due', attempt: 2 })[1], [])
  t.same(feed(acting(), { type: 'look-due', attempt: 2 })[1], [])
})

t.test(
  'a holder counts the largest difference of three clocks, an observer the smallest',
  async (t) => {
    const to = { monotonicMs: 5, bootMs: 7, wallMs: -3 }
    t.equal(elapsedAtMost(at(0), to), 7)
    t.equal(elapsedAtLeast(at(0), to), -3)
  },
)

t.test('an observer whose wall clock is stepped back loses one look, not the step', async (t) => {
  const stepped = (ms: number): Instant => ({ ...at(ms), wallMs: ms - 600_000 })
  let [state] = feed(observing(), seen(1, 0))
  for (let second = 1; second <= 18; second += 1) {
    ;[state] = feed(state, { type: 'look-due', attempt: state.attempt })
    ;[state] = feed(state, {
      type: 'seen',
      attempt: state.attempt,
      at: stepped(second * 1000),
      sight: sight(),
    })
    if (state.phase === 'acquiring') break
  }
  t.equal(state.phase, 'acquiring')
})

const way: fc.Arbitrary<Way> = fc.record({
  thereMs: fc.oneof({ weight: 6, arbitrary: fc.nat(30) }, fc.nat(1400), fc.nat(20_000)),
  backMs: fc.oneof({ weight: 6, arbitrary: fc.nat(30) }, fc.nat(1400), fc.constant(1e9)),
})
const mishap: fc.Arbitrary<Mishap> = fc
  .tuple(
    fc.record({ at: fc.nat(120_000), who: fc.nat(2) }),
    fc.oneof(
      fc.record({
        what: fc.constantFrom('freeze' as const, 'suspend' as const),
        forMs: fc.nat(40_000),
      }),
      fc.record({
        what: fc.constant('step-wall' as const),
        byMs: fc.integer({ min: -600_000, max: 600_000 }),
      }),
      fc.record({ what: fc.constant('restart' as const) }),
    ),
  )
  .map(([where, what]) => ({ ...where, ...what }))

t.test('two never act at once, whatever is late, lost, frozen or stepped (CL1)', async (t) => {
  let acts = 0
  fc.assert(
    fc.property(
      fc.array(way, { minLength: 60, maxLength: 200 }),
      fc.array(mishap, { maxLength: 12 }),
      fc.array(fc.constantFrom(0.96, 1, 1.04), { minLength: 3, maxLength: 3 }),
      (ways, mishaps, rates) => {
        const world = new LeaseWorld(rates, ways[Symbol.iterator](), mishaps)
        world.run(240_000)
        acts += world.acts.length
        const tokens = world.acts.map((it) => it.token)
        return world.overlaps.length === 0 && tokens.every((it, i) => it >= (tokens[i - 1] ?? 0))
      },
    ),
    { numRuns: 60 },
  )
  t.ok(acts > 1000, `${acts} acts`)
})

t.test(
  'in a quiet cluster one leads after L + G, keeps leading, and is followed when it freezes',
  async (t) => {
    const freeze: Mishap = { at: 60_000, who: 0, what: 'freeze', forMs: 60_000 }
    const calm = new LeaseWorld([1, 1], [][Symbol.iterator](), [])
    t.equal(calm.run(20_000).length, 1)
    const [leader = -1] = calm.run(100_000)
    t.ok(calm.acts.every((it) => it.who === leader))
    const world = new LeaseWorld([1, 1], [][Symbol.iterator](), [{ ...freeze, who: leader }])
    world.run(59_000)
    t.same(world.run(60_000 + timing.lengthMs + timing.guardMs + 3000), [1 - leader])
    t.same(world.run(125_000), [1 - leader], 'the thawed one does not act')
  },
)
