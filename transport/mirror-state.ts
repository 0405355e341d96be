// What a mirror decides: when to list its bucket anew, and which changes are news. Pure.
import { assertNever } from '../kernel/assert.ts'
import type { Step } from '../kernel/step.ts'
import { stay } from '../kernel/step.ts'
import { fenceKey } from './contract/subjects.ts'
import type { Entry } from './store.ts'

/** What the owner is told. */
export type MirrorEvent =
  /** Replaces everything told before. */
  | { type: 'listed'; entries: ReadonlyMap<string, Entry>; revision: number }
  | { type: 'put'; entry: Entry }
  | { type: 'deleted'; key: string; revision: number }

/** Nobody commands a mirror: all it hears are facts of its own effects. */
export type MirrorMessage =
  | { type: 'reconnected' }
  | { type: 'due'; attempt: number }
  | { type: 'listed'; attempt: number; entries: Entry[]; revision: number; created: string }
  | { type: 'changed'; attempt: number; entry: Entry; deleted: boolean }
  | { type: 'ended'; attempt: number; reason: string }
  | { type: 'looked'; attempt: number; created: string; last: number }
  | { type: 'unseen'; attempt: number; reason: string }

export type MirrorEffect =
  | { do: 'attend' }
  | { do: 'watch'; attempt: number }
  | { do: 'look'; attempt: number }
  | { do: 'wait'; attempt: number; delayMs: number }
  | { do: 'tell'; event: MirrorEvent }
  /** Says once why the bucket cannot be followed. */
  | { do: 'warn'; reason: string }

/** How far the owner has been told, and the highest revision that the server named at the last look. */
type Known = { created: string; seen: number; noted: number }

/**
 * listing ──listed──► watching ──deaf, made again, reconnected──► listing
 *    └──ended: after a delay──┘ ◄──────────────ended──────────────────┘
 *
 * `trouble` is what was last said to be wrong; a list or a look that succeeds ends it.
 */
export type MirrorState = { trouble?: string } & (
  | { phase: 'listing'; attempt: number; known: Known | null }
  | { phase: 'watching'; attempt: number; known: Known }
)

/** Between two looks at the bucket: a deaf watch is found within two of them. */
export const lookMs = 3000
/** Before a watch that ended is tried again. */
export const retryMs = 1000

export const init = (): Step<MirrorState, MirrorEffect> => [
  { phase: 'listing', attempt: 1, known: null },
  [{ do: 'attend' }, { do: 'watch', attempt: 1 }],
]

export function transition(
  state: MirrorState,
  message: MirrorMessage,
): Step<MirrorState, MirrorEffect> {
  // a deletion that went by meanwhile may have left no trace to resume from
  if (message.type === 'reconnected') return list(state)
  if (message.attempt !== state.attempt) return stay(state) // of a watch that was replaced
  const { attempt } = state
  switch (message.type) {
    case 'due':
      return [state, [{ do: state.phase === 'listing' ? 'watch' : 'look', attempt }]]
    case 'listed':
      return listed(state, message)
    case 'changed':
      return changed(state, message.entry, message.deleted)
    case 'ended':
      return troubled(retry(state), state.trouble, message.reason)
    case 'looked':
      return looked(state, message.created, message.last)
    case 'unseen': {
      const wait: MirrorEffect = { do: 'wait', attempt, delayMs: lookMs }
      return troubled([state, [wait]], state.trouble, message.reason)
    }
    default:
      return assertNever(message)
  }
}

function list({ attempt, known }: MirrorState): Step<MirrorState, MirrorEffect> {
  const next = attempt + 1
  return [{ phase: 'listing', attempt: next, known }, [{ do: 'watch', attempt: next }]]
}

function retry({ attempt, known }: MirrorState): Step<MirrorState, MirrorEffect> {
  const next = attempt + 1
  return [
    { phase: 'listing', attempt: next, known },
    [{ do: 'wait', attempt: next, delayMs: retryMs }],
  ]
}

function troubled(
  [next, effects]: Step<MirrorState, MirrorEffect>,
  before: string | undefined,
  reason: string,
): Step<MirrorState, MirrorEffect> {
  const said: MirrorEffect[] = reason === before ? [] : [{ do: 'warn', reason }]
  return [{ ...next, trouble: reason }, [...effects, ...said]]
}

function listed(
  state: MirrorState,
  { entries, revision, created }: Extract<MirrorMessage, { type: 'listed' }>,
): Step<MirrorState, MirrorEffect> {
  const { attempt, known } = state
  // a server that lags, or no longer leads, may list what was already replaced
  if (known && known.created === created && revision < known.seen) return retry(state)
  const shown = entries.filter((entry) => entry.key !== fenceKey)
  const map = new Map(shown.map((entry) => [entry.key, entry]))
  return [
    { phase: 'watching', attempt, known: { created, seen: revision, noted: revision } },
    [
      { do: 'tell', event: { type: 'listed', entries: map, revision } },
      { do: 'wait', attempt, delayMs: lookMs },
    ],
  ]
}

function changed(
  state: MirrorState,
  entry: Entry,
  deleted: boolean,
): Step<MirrorState, MirrorEffect> {
  if (state.phase === 'listing' || entry.revision <= state.known.seen) return stay(state)
  const { key, revision } = entry
  const next = { ...state, known: { ...state.known, seen: revision } }
  if (key === fenceKey) return stay(next)
  const event: MirrorEvent = deleted ? { type: 'deleted', key, revision } : { type: 'put', entry }
  return [next, [{ do: 'tell', event }]]
}

function looked(
  state: MirrorState,
  created: string,
  last: number,
): Step<MirrorState, MirrorEffect> {
  if (state.phase === 'listing') return stay(state)
  const { attempt, known } = state
  const madeAgain = created !== known.created
  const deaf = known.seen < known.noted
  if (madeAgain || deaf) return list(state)
  return [
    { phase: 'watching', attempt, known: { ...known, noted: Math.max(known.noted, last) } },
    [{ do: 'wait', attempt, delayMs: lookMs }],
  ]
}
