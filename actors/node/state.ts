// Decides when a node registers, what it reports, and which commands it obeys.
// Longer than most: a report holds all that the other duties of the node keep, so they stand together.
import { assertNever } from '../../kernel/assert.ts'
import { failure } from '../../kernel/errors.ts'
import { type Step, stay } from '../../kernel/step.ts'
import type { Outcome } from '../../transport/contract/envelope.ts'
import type { Hardware, Load } from '../../transport/contract/hardware.ts'
import type {
  Install,
  NodeFile,
  NodeReport,
  Registration,
  ShardStatus,
} from '../../transport/contract/node.ts'
import type { Message as FilesMessage } from './files/protocol.ts'
import type { Command, Identity, Message } from './protocol.ts'
import type { Message as ShardsMessage } from './shards/protocol.ts'

/** Between reports, beside those that a change brings. */
const reportEveryMs = 1000
/** Engines that were left running are found within this; a node registers without them rather than never. */
const settleWithinMs = 2000
/** After the first registration that was not answered; it doubles. */
const registerAgainMs = 250
/** A leader is found within this once there is one. */
const registerAgainMostMs = 2000

/** What its parts last told; null until they did. */
type Known = {
  hardware: Hardware | null
  load: Load | null
  shards: readonly ShardStatus[] | null
  files: readonly NodeFile[] | null
  installs: readonly Install[] | null
}

/**
 *     offline ──online──> waiting ──parts known──> registering ──answered──> registered
 *        ^                 ^  ^ due                     │ no answer              │
 *        │                 │  └──────── pausing <───────┘                        │
 *        │                 └──────────────────────────────────── a leader asks ──┤
 *        └──────────────────────────────────────────────── connection lost ──────┘
 *
 * `sent` holds the lists as the leader has them: a registration sends both whole (ND6).
 */
export type State = {
  identity: Identity
  /** `attempt` counts registrations, `tries` those since the last answer. */
  link: {
    phase: 'offline' | 'waiting' | 'registering' | 'registered' | 'pausing'
    attempt: number
    tries: number
  }
  /** All parts have told, or have had their time. */
  settled: boolean
  known: Known
  sent: Pick<Known, 'files' | 'installs'>
  seq: number
  /** Highest leadership that was seen. */
  token: number
}

export type Effect =
  /** Recalls the token, listens, and begins to tick. */
  | { do: 'begin' }
  | { do: 'wait'; message: Extract<Message, { type: 'due' | 'tick' | 'settled' }>; delayMs: number }
  | { do: 'register'; attempt: number; registration: Registration }
  | { do: 'report'; report: NodeReport }
  | { do: 'keep-token'; token: number }
  | { do: 'shards'; message: ShardsMessage }
  | { do: 'files'; message: FilesMessage }
  | { do: 'logs'; command: Extract<Command, { type: 'logs' }> }
  | {
      do: 'answer'
      replyTo: (outcome: Outcome<{ taken: true }>) => void
      outcome: Outcome<{ taken: true }>
    }

type Next = Step<State, Effect>

export const init = (identity: Identity): Next => [
  {
    identity,
    link: { phase: 'offline', attempt: 0, tries: 0 },
    settled: false,
    known: { hardware: null, load: null, shards: null, files: null, installs: null },
    sent: { files: null, installs: null },
    seq: 0,
    token: 0,
  },
  [
    { do: 'begin' },
    { do: 'wait', message: { type: 'settled' }, delayMs: settleWithinMs },
    { do: 'wait', message: { type: 'tick' }, delayMs: reportEveryMs },
  ],
]

export function transition(state: State, message: Message): Next {
  switch (message.type) {
    case 'recalled':
      return stay({ ...state, token: message.token })
    case 'online':
      return tryRegister(withPhase(state, 'waiting'))
    case 'offline':
      return stay(withPhase(state, 'offline'))
    case 'settled':
      return tryRegister({ ...state, settled: true })
    case 'due':
      return due(state, message.attempt)
    case 'registered':
      return registered(state, message)
    case 'unregistered':
      return message.attempt === state.link.attempt ? again(state) : stay(state)
    case 'tick': {
      const [next, effects] = report(state)
      const tick: Effect = { do: 'wait', message: { type: 'tick' }, delayMs: reportEveryMs }
      return [next, [...effects, tick]]
    }
    case 'hardware':
      return learn(state, { hardware: message.hardware })
    case 'load':
      return learn(state, { load: message.load })
    case 'shards': {
      const [next, effects] = learn(state, { shards: message.shards })
      // A change of phase is told at once: somebody waits for it.
      if (phasesOf(message.shards) === phasesOf(state.known.shards)) return [next, effects]
      const [told, reports] = report(next)
      return [told, [...effects, ...reports]]
    }
    case 'files':
      return learn(state, { files: message.files })
    case 'installs':
      return learn(state, { installs: message.installs })
    case 'command':
      return obey(state, message)
    case 'logs':
      return [state, [{ do: 'logs', command: message }]]
    default:
      return assertNever(message)
  }
}

const withPhase = (state: State, phase: State['link']['phase']): State => ({
  ...state,
  link: { phase, attempt: state.link.attempt + 1, tries: 0 },
})

const learn = (state: State, news: Partial<Known>): Next =>
  tryRegister({ ...state, known: { ...state.known, ...news } })

/** Registers a node that waits to, once what a registration must hold is known, and the rest or its time is over. */
function tryRegister(state: State): Next {
  if (state.link.phase !== 'waiting') return stay(state)
  const { hardware, load, shards, files, installs } = state.known
  if (hardware === null || load === null) return stay(state)
  const isLooking = shards === null || shards.some((it) => it.phase === 'looking')
  if (!state.settled && (isLooking || files === null || installs === null)) return stay(state)
  const { node, boot, pid, version, address } = state.identity
  const attempt = state.link.attempt + 1
  const seq = state.seq + 1
  const registration: Registration = {
    node,
    boot,
    pid,
    version,
    address,
    hardware,
    report: reportOf(state, load, seq, { files: files ?? [], installs: installs ?? [] }),
  }
  return [
    {
      ...state,
      link: { ...state.link, phase: 'registering', attempt },
      seq,
      sent: { files, installs },
    },
    [{ do: 'register', attempt, registration }],
  ]
}

/** An answer under an older leadership than one that was seen is none. */
function registered(
  state: State,
  { attempt, token }: Extract<Message, { type: 'registered' }>,
): Next {
  if (attempt !== state.link.attempt) return stay(state)
  if (token < state.token) return again(state)
  const next: State = { ...state, link: { phase: 'registered', attempt, tries: 0 } }
  return withToken(next, token)
}

function again(state: State): Next {
  const { attempt, tries } = state.link
  const delayMs = Math.min(registerAgainMs * 2 ** tries, registerAgainMostMs)
  return [
    { ...state, link: { phase: 'pausing', attempt: attempt + 1, tries: tries + 1 } },
    [{ do: 'wait', message: { type: 'due', attempt: attempt + 1 }, delayMs }],
  ]
}

function due(state: State, attempt: number): Next {
  const { link } = state
  if (link.phase !== 'pausing' || attempt !== link.attempt) return stay(state)
  return tryRegister({ ...state, link: { ...link, phase: 'waiting' } })
}

function report(state: State): Next {
  const { known, sent, link } = state
  if (link.phase !== 'registered' || known.load === null) return stay(state)
  const seq = state.seq + 1
  const { files, installs } = known
  const changed = {
    ...(files !== null && files !== sent.files ? { files } : {}),
    ...(installs !== null && installs !== sent.installs ? { installs } : {}),
  }
  const next = { ...state, seq, sent: { files, installs } }
  return [next, [{ do: 'report', report: reportOf(state, known.load, seq, changed) }]]
}

const reportOf = (
  { identity, known }: State,
  load: Load,
  seq: number,
  lists: { files?: readonly NodeFile[]; installs?: readonly Install[] },
): NodeReport => ({
  kind: 'node',
  node: identity.node,
  boot: identity.boot,
  seq,
  load,
  shards: [...(known.shards ?? [])],
  ...(lists.files && { files: [...lists.files] }),
  ...(lists.installs && { installs: [...lists.installs] }),
})

function obey(state: State, { command, replyTo }: Extract<Command, { type: 'command' }>): Next {
  const answer = (outcome: Outcome<{ taken: true }>): Effect => ({ do: 'answer', replyTo, outcome })
  const { token } = command
  if (token < state.token) {
    const error = failure('LLMGW_STALE_COMMAND', { token, highest: state.token })
    return [state, [answer({ ok: false, error })]]
  }
  const [next, effects] = withToken(state, token)
  const taken = answer({ ok: true, value: { taken: true } })
  switch (command.type) {
    case 'start': {
      const { type: _, token: __, ...spec } = command
      return [next, [...effects, taken, { do: 'shards', message: { type: 'start', spec } }]]
    }
    case 'stop': {
      const { replica } = command
      return [next, [...effects, taken, { do: 'shards', message: { type: 'stop', replica } }]]
    }
    case 'fetch': {
      const { artifact } = command
      const message: FilesMessage = { type: 'fetch', artifact, replyTo: () => {} }
      return [next, [...effects, taken, { do: 'files', message }]]
    }
    case 'register': {
      const isOnline = next.link.phase === 'registered'
      const [asked, asks]: Next = isOnline ? tryRegister(withPhase(next, 'waiting')) : stay(next)
      return [asked, [...effects, taken, ...asks]]
    }
    default:
      return assertNever(command)
  }
}

function withToken(state: State, token: number): Next {
  if (token <= state.token) return stay(state)
  return [{ ...state, token }, [{ do: 'keep-token', token }]]
}

const phasesOf = (shards: readonly ShardStatus[] | null): string =>
  (shards ?? []).map((it) => `${it.replica} ${it.phase} ${it.pid}`).join()
