// Who leads: a lease by compare-and-set and observed silence, in which no clock is compared with another machine's.
// Longer than most: that at most one leads is only seen with all phases side by side.
import { type Step, stay } from '../../../kernel/step.ts'
import type { Instant, LeaseRecord, Message, Sight } from './protocol.ts'

/** The lease's times. Safe while clocks' rates differ by less than `guardMs / lengthMs`. */
export type Timing = { lengthMs: number; guardMs: number; renewMs: number }

/** Who this candidate is, and whether this set-up has just made the store. */
export type Candidate = Pick<LeaseRecord, 'holder' | 'process'> & {
  timing: Timing
  /** An absent record then needs no wait: nobody can hold a lease in a store that was not there. */
  freshStore: boolean
}

/** Between looks at a lease that another holds. */
const lookMs = 1000
/** Before the next try of something that failed, with as much jitter. */
const retryMs = 150
/** After a lost race for the lease, with as much jitter and a half. */
const againMs = 200

/** `silentMs` is the sum over the looks, so that a clock stepped back costs one look and no more. */
type Watched = { sight: Sight; silentMs: number; at: Instant }
type Held = {
  /** Revision of the acquisition: the fencing token. */
  token: number
  epoch: number
  /** Revision of the last renewal. */
  revision: number
  /** When the last acknowledged write was sent: authority counts from here. */
  sent: Instant
}
type Phase<P extends string, D = unknown> = { phase: P; me: Candidate; attempt: number } & D

/**
 *   observing ──silence, release or death──▶ acquiring ──stored──▶ fencing ──fenced──▶ acting
 *       ▲  ▲                                     │                    │                   │
 *       │  └────────mismatch, no answer──────────┘                    │       lost, deposed│
 *       └──────────────────────lost───────────────────────────────────┘                   ▼
 *       └───────────────────────────the subtree is gone────────────────────────────── leaving
 */
export type State =
  | Phase<'observing', { watched: Watched | null }>
  | Phase<'acquiring', { epoch: number }>
  | Phase<'fencing', Held>
  | Phase<'acting', Held>
  | Phase<'leaving', { token: number }>
type Holding = Extract<State, { phase: 'fencing' | 'acting' }>

export type Effect =
  /** Read the lease: `seen` or `unseen`. */
  | { do: 'look'; attempt: number }
  | { do: 'wait'; delayMs: number; jitterMs: number; message: Message }
  /** Compare-and-set: `stored`, `mismatched` or `unanswered`. */
  | { do: 'store'; attempt: number; record: LeaseRecord; expect: number }
  /** From now until `untilMs` after `sent` the subtree may act. */
  | { do: 'authorize'; token: number; sent: Instant; untilMs: number }
  /** Refuse the subtree everything from now on. */
  | { do: 'revoke' }
  /** Take the fences of all that the leader writes: `fenced`, `unfenced` or `deposed`. */
  | { do: 'fence'; token: number }
  | { do: 'lead'; token: number }
  /** Stop the subtree: `stepped-down`. */
  | { do: 'step-down'; token: number }

export const init = (me: Candidate): Step<State, Effect> => look({ me, attempt: 0, watched: null })

/** How long a holder must count: the largest difference, since a clock that stood still hides time. */
export const elapsedAtMost = (from: Instant, to: Instant): number =>
  Math.max(to.monotonicMs - from.monotonicMs, to.bootMs - from.bootMs, to.wallMs - from.wallMs)

/** How long an observer may count: the smallest difference, since a clock that jumped invents time. */
export const elapsedAtLeast = (from: Instant, to: Instant): number =>
  Math.min(to.monotonicMs - from.monotonicMs, to.bootMs - from.bootMs, to.wallMs - from.wallMs)

export function transition(state: State, message: Message): Step<State, Effect> {
  if ('attempt' in message && message.attempt !== state.attempt) return stay(state)
  switch (state.phase) {
    case 'observing':
      return observing(state, message)
    case 'acquiring':
      return acquiring(state, message)
    case 'fencing':
    case 'acting':
      return holding(state, message)
    case 'leaving':
      return message.type === 'stepped-down' && message.token === state.token
        ? look({ me: state.me, attempt: state.attempt, watched: null })
        : stay(state)
  }
}

function observing(
  state: Extract<State, { phase: 'observing' }>,
  message: Message,
): Step<State, Effect> {
  switch (message.type) {
    case 'look-due':
      return look(state)
    case 'unseen':
      return watch({ ...state, watched: null })
    case 'seen': {
      const { sight, at } = message
      const before = state.watched
      const silentMs =
        before !== null && same(before.sight, sight)
          ? before.silentMs + Math.max(0, elapsedAtLeast(before.at, at))
          : 0
      const watched = { sight, silentMs, at }
      return mayAcquire(state.me, watched) ? acquire(state, sight) : watch({ ...state, watched })
    }
    default:
      return stay(state)
  }
}

/** 1. mine already, 2. given back, 3. its holder is known dead, 4. nobody can hold it, 5. silent for long enough. */
function mayAcquire(me: Candidate, { sight, silentMs }: Watched): boolean {
  const { record } = sight
  if (record?.holder.uid === me.holder.uid) return true
  if (record?.released || sight.holderDead) return true
  if (record === null && me.freshStore) return true
  const lengthMs = Math.max(record?.lengthMs ?? 0, me.timing.lengthMs)
  return silentMs >= lengthMs + me.timing.guardMs
}

function acquire(state: State, { record, revision }: Sight): Step<State, Effect> {
  // a store is fresh once: a bucket that is made anew later may have had a holder
  const me = { ...state.me, freshStore: false }
  // a record of mine that was never acknowledged, or that I let lapse: nobody else acted since
  const mine = record?.holder.uid === me.holder.uid && !record.released
  const epoch = mine ? record.epoch : (record?.epoch ?? 0) + 1
  const attempt = state.attempt + 1
  return [
    { phase: 'acquiring', me, attempt, epoch },
    [{ do: 'store', attempt, record: recordOf(me, epoch), expect: revision }],
  ]
}

function acquiring(
  state: Extract<State, { phase: 'acquiring' }>,
  message: Message,
): Step<State, Effect> {
  switch (message.type) {
    case 'stored': {
      const { me, epoch, attempt } = state
      const { revision, sent, at } = message
      const held = { token: revision, epoch, revision, sent }
      if (lapsed(me, sent, at)) return watch({ me, attempt, watched: null })
      const [next, effects] = renewed({ phase: 'fencing', me, attempt, ...held }, at)
      return [next, [...effects, { do: 'fence', token: revision }]]
    }
    case 'mismatched':
    case 'unanswered':
      return [
        { phase: 'observing', me: state.me, attempt: state.attempt, watched: null },
        [
          {
            do: 'wait',
            delayMs: againMs,
            jitterMs: againMs * 1.5,
            message: { type: 'look-due', attempt: state.attempt },
          },
        ],
      ]
    default:
      return stay(state)
  }
}

function holding(state: Holding, message: Message): Step<State, Effect> {
  if ('at' in message && message.type !== 'stored' && lapsed(state.me, state.sent, message.at)) {
    return lost(state)
  }
  switch (message.type) {
    case 'renew-due': {
      const attempt = state.attempt + 1
      const record = recordOf(state.me, state.epoch)
      return [{ ...state, attempt }, [{ do: 'store', attempt, record, expect: state.revision }]]
    }
    case 'stored': {
      const { revision, sent, at } = message
      return lapsed(state.me, sent, at) ? lost(state) : renewed({ ...state, revision, sent }, at)
    }
    case 'unanswered':
    case 'unseen':
      return [state, [retry({ type: 'renew-due', attempt: state.attempt })]]
    case 'mismatched': {
      const attempt = state.attempt + 1
      return [{ ...state, attempt }, [{ do: 'look', attempt }]]
    }
    case 'seen': {
      const { record, revision } = message.sight
      const mine =
        record?.holder.uid === state.me.holder.uid &&
        record.epoch === state.epoch &&
        !record.released
      if (!mine) return lost(state)
      // an unanswered renewal was applied: its time of sending is unknown, so the deadline stays
      return holding({ ...state, revision }, { type: 'renew-due', attempt: state.attempt })
    }
    case 'fenced':
      return state.phase === 'fencing' && message.token === state.token
        ? [{ ...state, phase: 'acting' }, [{ do: 'lead', token: state.token }]]
        : stay(state)
    case 'unfenced':
      return state.phase === 'fencing' && message.token === state.token
        ? [state, [retry({ type: 'fence-due', token: state.token })]]
        : stay(state)
    case 'fence-due':
      return state.phase === 'fencing' && message.token === state.token
        ? [state, [{ do: 'fence', token: state.token }]]
        : stay(state)
    case 'deadline':
      // a renewal since then has moved the deadline and set a timer of its own
      return message.token === state.token && message.sent === state.sent.monotonicMs
        ? lost(state)
        : stay(state)
    case 'deposed':
      return message.token === state.token ? lost(state) : stay(state)
    case 'fallen':
      // the restart budget of the program decides what becomes of it; its end releases the lease
      if (message.token === state.token) throw new Error(`the leader failed: ${message.reason}`)
      return stay(state)
    default:
      return stay(state)
  }
}

const lapsed = (me: Candidate, sent: Instant, at: Instant): boolean =>
  elapsedAtMost(sent, at) >= authorityMs(me)
const authorityMs = ({ timing }: Candidate): number => timing.lengthMs - timing.guardMs

function renewed(state: Holding, at: Instant): Step<State, Effect> {
  const { me, token, sent, attempt } = state
  const untilMs = authorityMs(me)
  const deadline: Message = { type: 'deadline', token, sent: sent.monotonicMs }
  return [
    state,
    [
      { do: 'authorize', token, sent, untilMs },
      { do: 'wait', delayMs: untilMs - elapsedAtMost(sent, at), jitterMs: 0, message: deadline },
      {
        do: 'wait',
        delayMs: me.timing.renewMs,
        jitterMs: 0,
        message: { type: 'renew-due', attempt },
      },
    ],
  ]
}

function lost({ phase, me, attempt, token }: Holding): Step<State, Effect> {
  // answers that are under way belong to the lease that was lost
  const next = attempt + 1
  if (phase === 'fencing') {
    const [state, effects] = look({ me, attempt: next, watched: null })
    return [state, [{ do: 'revoke' }, ...effects]]
  }
  return [
    { phase: 'leaving', me, attempt: next, token },
    [{ do: 'revoke' }, { do: 'step-down', token }],
  ]
}

function look(from: {
  me: Candidate
  attempt: number
  watched: Watched | null
}): Step<State, Effect> {
  const attempt = from.attempt + 1
  const { me, watched } = from
  return [{ phase: 'observing', me, attempt, watched }, [{ do: 'look', attempt }]]
}

function watch(state: {
  me: Candidate
  attempt: number
  watched: Watched | null
}): Step<State, Effect> {
  const { me, attempt, watched } = state
  const message: Message = { type: 'look-due', attempt }
  return [
    { phase: 'observing', me, attempt, watched },
    [{ do: 'wait', delayMs: lookMs, jitterMs: 0, message }],
  ]
}

const retry = (message: Message): Effect => ({
  do: 'wait',
  delayMs: retryMs,
  jitterMs: retryMs,
  message,
})

const same = (a: Sight, b: Sight): boolean =>
  a.revision === b.revision &&
  a.created === b.created &&
  a.streamLeader === b.streamLeader &&
  a.epoch === b.epoch

export const recordOf = (me: Candidate, epoch: number, released = false): LeaseRecord => ({
  v: 1,
  holder: me.holder,
  epoch,
  lengthMs: me.timing.lengthMs,
  released,
  process: me.process,
})
