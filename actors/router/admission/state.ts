// Keeps the keys that requests may use, as mirrored, less those that were just revoked.
import { type Step, stay } from '../../../kernel/step.ts'
import { problemOf } from '../../../transport/contract/problem.ts'
import { type RoutedKey, routedKeySchema } from '../../../transport/contract/route.ts'
import type { KeysSnapshot, Message } from './protocol.ts'

export type State = {
  listed: boolean
  keys: KeysSnapshot
  /** Revoked by message; kept, since a list that was read before may still hold them. */
  revoked: ReadonlySet<string>
}

export type Effect =
  | { do: 'publish'; keys: KeysSnapshot }
  | { do: 'warn'; key: string; problem: string }

const prefix = 'key.'

export const init = (): Step<State, Effect> =>
  stay({ listed: false, keys: new Map(), revoked: new Set() })

export function transition(state: State, message: Message): Step<State, Effect> {
  switch (message.type) {
    case 'listed': {
      const entries = [...message.entries].filter(([key]) => key.startsWith(prefix))
      return put({ ...state, listed: true, keys: new Map() }, entries)
    }
    case 'put': {
      const { key, value } = message.entry
      return key.startsWith(prefix) ? put(state, [[key, { value }]]) : stay(state)
    }
    case 'deleted':
      return message.key.startsWith(prefix)
        ? publish(state, without(state.keys, message.key.slice(prefix.length)))
        : stay(state)
    case 'revoked': {
      const revoked = new Set([...state.revoked, message.sha256])
      return publish({ ...state, revoked }, without(state.keys, message.sha256))
    }
  }
}

function put(
  state: State,
  entries: readonly (readonly [string, { value: unknown }])[],
): Step<State, Effect> {
  const keys = new Map(state.keys)
  const warnings: Effect[] = []
  for (const [key, { value }] of entries) {
    const sha256 = key.slice(prefix.length)
    const parsed = routedKeySchema.safeParse(value)
    if (!parsed.success) warnings.push({ do: 'warn', key, problem: problemOf(parsed.error) })
    else if (!state.revoked.has(sha256)) keys.set(sha256, parsed.data)
  }
  const [next, effects] = publish(state, keys)
  return [next, [...effects, ...warnings]]
}

/** Nothing before all keys were told: after a crash those published before are better than none. */
const publish = (state: State, keys: KeysSnapshot): Step<State, Effect> => [
  { ...state, keys },
  state.listed ? [{ do: 'publish', keys }] : [],
]

const without = (keys: KeysSnapshot, sha256: string): KeysSnapshot =>
  new Map<string, RoutedKey>([...keys].filter(([key]) => key !== sha256))
