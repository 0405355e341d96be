// The mirror's decisions: phase by message, and what its owner is told.
import t from 'tap'
import {
  init,
  lookMs,
  type MirrorEffect,
  type MirrorEvent,
  type MirrorMessage,
  type MirrorState,
  retryMs,
  transition,
} from '../../../transport/mirror-state.ts'

const entry = (key: string, revision: number) => ({ key, value: `${key}@${revision}`, revision })
const listing: MirrorState = { phase: 'listing', attempt: 2, known: null }
const known = { created: 'first', seen: 10, noted: 10 }
const watching: MirrorState = { phase: 'watching', attempt: 2, known }
const relisting: MirrorState = { phase: 'listing', attempt: 2, known }

const after = (state: MirrorState, ...messages: MirrorMessage[]) => {
  const effects: MirrorEffect[] = []
  let last = state
  for (const message of messages) {
    const [next, more] = transition(last, message)
    last = next
    effects.push(...more)
  }
  return { state: last, effects }
}
const told = (effects: readonly MirrorEffect[]): MirrorEvent[] =>
  effects.flatMap((it) => (it.do === 'tell' ? [it.event] : []))
const listed = (revision: number, created = 'first', attempt = 2): MirrorMessage => ({
  type: 'listed',
  attempt,
  entries: [entry('a', revision), entry('fence', 1)],
  revision,
  created,
})

t.test('it begins by watching', async (t) => {
  t.strictSame(init(), [
    { phase: 'listing', attempt: 1, known: null },
    [{ do: 'attend' }, { do: 'watch', attempt: 1 }],
  ])
})

t.test('a complete list is told without the fence, and the next look is due', async (t) => {
  t.strictSame(after(listing, listed(10)), {
    state: watching,
    effects: [
      {
        do: 'tell',
        event: { type: 'listed', entries: new Map([['a', entry('a', 10)]]), revision: 10 },
      },
      { do: 'wait', attempt: 2, delayMs: lookMs },
    ],
  })
})

t.test('a list older than what was told is not told, and tried again', async (t) => {
  t.strictSame(after(relisting, listed(9)), {
    state: { phase: 'listing', attempt: 3, known },
    effects: [{ do: 'wait', attempt: 3, delayMs: retryMs }],
  })
  t.match(told(after(relisting, listed(10)).effects), [{ type: 'listed' }])
  t.match(told(after(relisting, listed(9, 'second')).effects), [{ type: 'listed' }])
})

t.test('why it cannot be followed is warned of once, until it can again', async (t) => {
  const warned = (state: MirrorState, ...messages: MirrorMessage[]) =>
    after(state, ...messages).effects.flatMap((it) => (it.do === 'warn' ? [it.reason] : []))
  const ended = (attempt: number, reason: string): MirrorMessage => ({
    type: 'ended',
    attempt,
    reason,
  })
  t.same(warned(listing, ended(2, 'no bucket'), ended(3, 'no bucket')), ['no bucket'])
  t.same(warned(watching, ended(2, 'deaf'), listed(11, 'first', 3), ended(3, 'deaf')), [
    'deaf',
    'deaf',
  ])
  const unseen: MirrorMessage = { type: 'unseen', attempt: 2, reason: 'away' }
  const looked: MirrorMessage = { type: 'looked', attempt: 2, created: 'first', last: 10 }
  t.same(warned(watching, unseen, unseen, looked, unseen), ['away', 'away'])
})

t.test('changes are told once, in order, and never an older one', async (t) => {
  const changed = (key: string, revision: number, deleted = false): MirrorMessage => ({
    type: 'changed',
    attempt: 2,
    entry: entry(key, revision),
    deleted,
  })
  const { state, effects } = after(
    watching,
    changed('a', 11),
    changed('a', 11),
    changed('b', 10),
    changed('fence', 12),
    changed('a', 13, true),
    changed('a', 12),
  )
  t.strictSame(told(effects), [
    { type: 'put', entry: entry('a', 11) },
    { type: 'deleted', key: 'a', revision: 13 },
  ])
  t.match(state, { phase: 'watching', known: { seen: 13 } })
  t.strictSame(after(listing, changed('a', 11)), { state: listing, effects: [] })
})

t.test('a look is taken when due, and noted', async (t) => {
  t.strictSame(after(watching, { type: 'due', attempt: 2 }).effects, [{ do: 'look', attempt: 2 }])
  t.strictSame(after(watching, { type: 'looked', attempt: 2, created: 'first', last: 12 }), {
    state: { phase: 'watching', attempt: 2, known: { ...known, noted: 12 } },
    effects: [{ do: 'wait', attempt: 2, delayMs: lookMs }],
  })
})

t.test('a look that fails changes nothing of what is known', async (t) => {
  t.strictSame(after(watching, { type: 'unseen', attempt: 2, reason: 'timeout' }), {
    state: { ...watching, trouble: 'timeout' },
    effects: [
      { do: 'wait', attempt: 2, delayMs: lookMs },
      { do: 'warn', reason: 'timeout' },
    ],
  })
})

t.test('what was noted and not heard by the next look makes it list again', async (t) => {
  const looked: MirrorMessage = { type: 'looked', attempt: 2, created: 'first', last: 12 }
  const { state, effects } = after(watching, looked, looked)
  t.match(state, { phase: 'listing', attempt: 3 })
  t.strictSame(effects.at(-1), { do: 'watch', attempt: 3 })
})

t.test('a bucket that was made again is listed anew', async (t) => {
  t.strictSame(after(watching, { type: 'looked', attempt: 2, created: 'second', last: 10 }), {
    state: { phase: 'listing', attempt: 3, known },
    effects: [{ do: 'watch', attempt: 3 }],
  })
})

t.test('after a reconnect it lists anew, whatever it does', async (t) => {
  for (const state of [listing, relisting, watching]) {
    const { effects, state: next } = after(state, { type: 'reconnected' })
    t.match(next, { phase: 'listing', attempt: 3 })
    t.strictSame(effects, [{ do: 'watch', attempt: 3 }])
  }
})

t.test('a watch that ended is tried again after a while', async (t) => {
  for (const state of [listing, watching]) {
    const ended = after(state, { type: 'ended', attempt: 2, reason: 'no bucket' })
    t.strictSame(ended.effects[0], { do: 'wait', attempt: 3, delayMs: retryMs })
    t.strictSame(after(ended.state, { type: 'due', attempt: 3 }).effects, [
      { do: 'watch', attempt: 3 },
    ])
  }
})

t.test('what an earlier watch tells changes nothing', async (t) => {
  const late: MirrorMessage[] = [
    { type: 'due', attempt: 1 },
    listed(20, 'first', 1),
    { type: 'changed', attempt: 1, entry: entry('a', 20), deleted: false },
    { type: 'ended', attempt: 1, reason: 'stopped' },
    { type: 'looked', attempt: 1, created: 'second', last: 20 },
    { type: 'unseen', attempt: 1, reason: 'timeout' },
  ]
  for (const state of [listing, watching]) {
    for (const message of late) t.strictSame(transition(state, message), [state, []])
  }
  const looked: MirrorMessage = { type: 'looked', attempt: 2, created: 'second', last: 20 }
  t.strictSame(transition(listing, looked), [listing, []])
})
