// Scopes and keys: who may use the cluster, by digests of keys that nobody keeps.
import { type Failure, failure } from '../../../kernel/errors.ts'
import { type Step, stay } from '../../../kernel/step.ts'
import type { KeyView } from '../../../transport/contract/admin.ts'
import { type Command, type KeyRecord, type Message, rootScope, type Scope } from './protocol.ts'

export type State =
  | { phase: 'loading' }
  | {
      phase: 'ready'
      scopes: ReadonlyMap<string, Scope>
      keys: ReadonlyMap<string, KeyRecord>
    }
type Ready = Extract<State, { phase: 'ready' }>
type Of<T extends Message['type']> = Extract<Message, { type: T }>

export type Effect =
  /** Read all scopes and keys: `loaded` or `unloaded`. */
  | { do: 'load' }
  | { do: 'keep'; scope: Scope }
  /** Make a key, store its digest, tell the routers, answer: `created` or `unstored`. */
  | { do: 'mint'; name: string; scope: string; at: number; replyTo: Of<'create'>['replyTo'] }
  /** Take a key from the store and the routers, then answer; at worst `unstored`. */
  | { do: 'revoke'; key: KeyRecord; replyTo: Of<'revoke'>['replyTo'] }
  /** Set right what an earlier leader left half done. */
  | { do: 'route'; key: KeyRecord }
  | { do: 'unroute'; sha256: string }
  | { do: 'answer'; keys: KeyView[]; replyTo: Of<'list'>['replyTo'] }
  | { do: 'refuse'; failure: Failure; replyTo: (outcome: { ok: false; error: Failure }) => void }

export const init = (): Step<State, Effect> => [{ phase: 'loading' }, [{ do: 'load' }]]

export function transition(state: State, message: Message): Step<State, Effect> {
  switch (message.type) {
    case 'loaded':
      return loaded(message)
    case 'unloaded':
    case 'unstored':
      // a crash: all is read anew within the restart budget
      throw new Error(message.reason)
    default:
  }
  if (state.phase === 'loading') {
    return 'replyTo' in message
      ? refuse(state, failure('LLMGW_NO_LEADER'), message.replyTo)
      : stay(state)
  }
  return ready(state, message)
}

function ready(state: Ready, message: Command | Of<'created'>): Step<State, Effect> {
  switch (message.type) {
    case 'create': {
      const { name, at, replyTo, scope = rootScope.id } = message
      return state.scopes.has(scope)
        ? [state, [{ do: 'mint', name, scope, at, replyTo }]]
        : refuse(state, failure('LLMGW_SCOPE_UNKNOWN', { scope }), replyTo)
    }
    case 'created': {
      const { key } = message
      return stay({ ...state, keys: new Map(state.keys).set(key.id, key) })
    }
    case 'list':
      return [
        state,
        [{ do: 'answer', keys: [...state.keys.values()].map(viewOf), replyTo: message.replyTo }],
      ]
    case 'revoke':
      return revoke(state, message)
  }
}

function loaded({ scopes, keys, routed }: Of<'loaded'>): Step<State, Effect> {
  const all = new Map(scopes.map((it) => [it.id, it]))
  const rooted = all.has(rootScope.id)
  const known = new Set(keys.map((it) => it.sha256))
  return [
    {
      phase: 'ready',
      scopes: all.set(rootScope.id, rootScope),
      keys: new Map(keys.map((it) => [it.id, it])),
    },
    [
      ...(rooted ? [] : [{ do: 'keep', scope: rootScope } as const]),
      ...keys
        .filter((it) => !routed.includes(it.sha256))
        .map((key) => ({ do: 'route', key }) as const),
      ...routed
        .filter((it) => !known.has(it))
        .map((sha256) => ({ do: 'unroute', sha256 }) as const),
    ],
  ]
}

function revoke(state: Ready, { id, replyTo }: Of<'revoke'>): Step<State, Effect> {
  const key = state.keys.get(id)
  if (key === undefined) return refuse(state, failure('LLMGW_KEY_UNKNOWN', { key: id }), replyTo)
  const keys = new Map(state.keys)
  keys.delete(id)
  return [{ ...state, keys }, [{ do: 'revoke', key, replyTo }]]
}

export const viewOf = ({ id, name, scope, createdAt }: KeyRecord): KeyView => ({
  id,
  name,
  scope,
  createdAt,
})

const refuse = (
  state: State,
  why: Failure,
  replyTo: (outcome: { ok: false; error: Failure }) => void,
): Step<State, Effect> => [state, [{ do: 'refuse', failure: why, replyTo }]]
