// Decides when the kept process is launched, adopted, restarted and ended.
import { assertNever } from '../../kernel/assert.ts'
import { type Budget, type Limits, newBudget, spend } from '../../kernel/restart.ts'
import { type Step, stay } from '../../kernel/step.ts'
import type { Event, Message, ProcessSpec } from './protocol.ts'

type Live = { attempt: number; spec: ProcessSpec; budget: Budget }
type Phase<P extends string, D> = { phase: P } & D

/**
 *     looking ──none──> idle ──start──> starting ──started──> running
 *        │ found                           ^  │ ended           │ ended
 *        └──────────> running          due │  v                 v
 *                                        waiting <── budget left? ──> failed ──start──> starting
 *     starting, running ──stop──> stopping ──ended──> idle, or starting where a start came since
 *
 * `attempt` counts launches over the whole incarnation, so that a late fact of a replaced process meets no other.
 */
export type State =
  /** What was said before the look was over. */
  | Phase<'looking', { attempt: number; wanted: ProcessSpec | null; end: boolean }>
  | Phase<'idle', { attempt: number }>
  | Phase<'failed', { attempt: number; reason: string }>
  | Phase<'waiting', Live>
  | Phase<'starting', Live>
  | Phase<'running', Live & { pid: number }>
  | Phase<'stopping', Live & { next: ProcessSpec | null }>

export type Effect =
  | { do: 'look'; attempt: number }
  | { do: 'wait'; attempt: number; delayMs: number }
  | { do: 'launch'; attempt: number; spec: ProcessSpec }
  | { do: 'end'; by?: ProcessSpec['stop'] }
  | { do: 'say'; event: Event }

type Next = Step<State, Effect>

export const init = (): Next => [
  { phase: 'looking', attempt: 1, wanted: null, end: false },
  [{ do: 'look', attempt: 1 }],
]

/** `limits` bound the restarts after one start command. */
export function transition(limits: Limits, state: State, message: Message): Next {
  switch (state.phase) {
    case 'looking':
      return looking(limits, state, message)
    case 'idle':
    case 'failed':
      if (message.type === 'start') return launch(first(limits, state.attempt + 1, message.spec))
      if (message.type === 'stop') return stopped(state.attempt)
      return stay(state)
    case 'waiting':
    case 'starting':
    case 'running':
    case 'stopping':
      return living(limits, state, message)
    default:
      return assertNever(state)
  }
}

function looking(
  limits: Limits,
  state: Extract<State, { phase: 'looking' }>,
  message: Message,
): Next {
  const { attempt, wanted, end } = state
  switch (message.type) {
    case 'start':
      return stay({ ...state, wanted: message.spec })
    case 'stop':
      return stay({ ...state, wanted: null, end: true })
    case 'found': {
      const live = first(limits, attempt, message.spec)
      if (end) return [{ phase: 'stopping', ...live, next: wanted }, [{ do: 'end' }]]
      return running(live, message.pid, true)
    }
    case 'none':
      if (wanted !== null) return launch(first(limits, attempt + 1, wanted))
      return end ? stopped(attempt) : [{ phase: 'idle', attempt }, [say({ type: 'absent' })]]
    case 'unknown':
      // A crash, so it is looked again within the supervisor's budget: nothing is ever launched on unknown.
      throw new Error(message.reason)
    case 'due':
    case 'started':
    case 'ended':
      return stay(state)
    default:
      return assertNever(message)
  }
}

function living(
  limits: Limits,
  state: Extract<State, { phase: 'waiting' | 'starting' | 'running' | 'stopping' }>,
  message: Message,
): Next {
  if ('attempt' in message && message.attempt !== state.attempt) return stay(state)
  const live: Live = { attempt: state.attempt, spec: state.spec, budget: state.budget }
  switch (message.type) {
    case 'start':
      return stay(state.phase === 'stopping' ? { ...state, next: message.spec } : state)
    case 'stop':
      if (state.phase === 'waiting') return stopped(state.attempt)
      if (state.phase === 'stopping') return stay({ ...state, next: null })
      return [{ phase: 'stopping', ...live, next: null }, [end(message.by)]]
    case 'due':
      return state.phase === 'waiting' ? launch(live) : stay(state)
    case 'started':
      return state.phase === 'starting' ? running(live, message.pid, false) : stay(state)
    case 'ended':
      if (state.phase === 'waiting') return stay(state)
      if (state.phase !== 'stopping') return crashed(live, message)
      if (state.next === null) return stopped(state.attempt)
      return launch(first(limits, state.attempt + 1, state.next))
    case 'found':
    case 'none':
    case 'unknown':
      return stay(state)
    default:
      return assertNever(message)
  }
}

function crashed(live: Live, { exit, at }: Extract<Message, { type: 'ended' }>): Next {
  const { attempt, spec, budget } = live
  const grant = spend(budget, at)
  const reason = exit.reason
  if (grant === null) {
    return [{ phase: 'failed', attempt, reason }, [say({ type: 'failed', exit, reason })]]
  }
  const next = { attempt: attempt + 1, spec, budget: grant.budget }
  const { delayMs } = grant
  return [
    { phase: 'waiting', ...next },
    [
      { do: 'wait', attempt: next.attempt, delayMs },
      say({ type: 'restarting', exit, reason, delayMs }),
    ],
  ]
}

const say = (event: Event): Effect => ({ do: 'say', event })

const end = (by: ProcessSpec['stop'] | undefined): Effect => ({ do: 'end', ...(by && { by }) })

const first = (limits: Limits, attempt: number, spec: ProcessSpec): Live => ({
  attempt,
  spec,
  budget: newBudget(limits),
})

const launch = (live: Live): Next => [
  { phase: 'starting', ...live },
  [{ do: 'launch', attempt: live.attempt, spec: live.spec }],
]

const running = (live: Live, pid: number, adopted: boolean): Next => [
  { phase: 'running', ...live, pid },
  [say({ type: 'running', pid, spec: live.spec, adopted })],
]

const stopped = (attempt: number): Next => [{ phase: 'idle', attempt }, [say({ type: 'stopped' })]]
