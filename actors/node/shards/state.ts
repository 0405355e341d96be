// Decides which shards a node has: those of its run folders, those that were started, less those that ended.
import { assertNever } from '../../../kernel/assert.ts'
import { type Step, stay } from '../../../kernel/step.ts'
import type { ShardStatus } from '../../../transport/contract/node.ts'
import { type Message as ShardMessage, type ShardSpec, untold } from '../../shard/protocol.ts'
import type { Event, Message } from './protocol.ts'

/** A shard; one that is not `live` broke, is reported as failed, and comes back with the next wish. */
export type Entry = { spec: ShardSpec; live: boolean; status: ShardStatus }

/** `stopping` holds who waits for the end of all. */
export type State = {
  /** Where routers reach the engines. */
  host: string
  shards: ReadonlyMap<string, Entry>
  stopping: readonly (() => void)[] | null
}

export type Effect =
  | { do: 'scan' }
  | { do: 'spawn'; spec: ShardSpec }
  | { do: 'tell'; replica: string; message: ShardMessage }
  | { do: 'answer'; replyTo: () => void }
  | { do: 'say'; event: Event }

type Next = Step<State, Effect>

export const init = (host: string): Next => [
  { host, shards: new Map(), stopping: null },
  [{ do: 'scan' }],
]

export function transition(state: State, message: Message): Next {
  switch (message.type) {
    case 'scanned': {
      const fresh = message.specs.filter(({ replica }) => !state.shards.has(replica))
      const next = fresh.reduce(withFresh, state)
      return [next, [...fresh.map((spec): Effect => ({ do: 'spawn', spec })), say(next)]]
    }
    case 'start':
      return start(state, message.spec)
    case 'stop':
      return stop(state, message.replica)
    case 'stop-all': {
      const all = { ...state, stopping: [...(state.stopping ?? []), message.replyTo] }
      const steps = [...all.shards.keys()].flatMap((replica) => stop(all, replica)[1])
      return ended(all, steps)
    }
    case 'changed': {
      const entry = state.shards.get(message.replica)
      if (entry === undefined) return stay(state)
      const next = withEntry(state, message.replica, { ...entry, status: message.status })
      return [next, [say(next)]]
    }
    case 'gone':
      return gone(state, message)
    default:
      return assertNever(message)
  }
}

function start(state: State, spec: ShardSpec): Next {
  if (state.stopping !== null) return stay(state)
  const { replica } = spec
  if (state.shards.get(replica)?.live) {
    return [state, [{ do: 'tell', replica, message: { type: 'start', spec } }]]
  }
  return [withFresh(state, spec), [{ do: 'spawn', spec }]]
}

/** A broken shard is brought back first: it alone finds its process, and ends it. */
function stop(state: State, replica: string): Next {
  const entry = state.shards.get(replica)
  if (entry === undefined) return stay(state)
  const tell: Effect = { do: 'tell', replica, message: { type: 'stop' } }
  if (entry.live) return [state, [tell]]
  return [
    withEntry(state, replica, { ...entry, live: true }),
    [{ do: 'spawn', spec: entry.spec }, tell],
  ]
}

function gone(state: State, { replica, end }: Extract<Message, { type: 'gone' }>): Next {
  const entry = state.shards.get(replica)
  if (entry === undefined) return stay(state)
  const isBroken = end.reason !== 'stopped' && state.stopping === null
  if (!isBroken) {
    const shards = new Map(state.shards)
    shards.delete(replica)
    return ended({ ...state, shards }, [])
  }
  const reason = `its keeper broke: ${end.error?.message ?? 'for an unknown reason'}`
  const status: ShardStatus = { ...entry.status, phase: 'failed', reason }
  const next = withEntry(state, replica, { ...entry, live: false, status })
  return [next, [say(next)]]
}

/** Says what is left, and answers who waits once nothing is. */
function ended(state: State, effects: readonly Effect[]): Next {
  if (state.stopping === null || state.shards.size > 0) return [state, [...effects, say(state)]]
  const answers = state.stopping.map((replyTo): Effect => ({ do: 'answer', replyTo }))
  return [{ ...state, stopping: [] }, [...effects, say(state), ...answers]]
}

const withFresh = (state: State, spec: ShardSpec): State =>
  withEntry(state, spec.replica, { spec, live: true, status: untold(spec, state.host) })

const withEntry = (state: State, replica: string, entry: Entry): State => ({
  ...state,
  shards: new Map(state.shards).set(replica, entry),
})

const say = ({ shards }: State): Effect => ({
  do: 'say',
  event: { type: 'shards', shards: [...shards.values()].map(({ status }) => status) },
})
