// The keeper of accounts: what it needs of the world, and how its effects are performed.
import type { Behaviour, Self } from '../../../kernel/actor.ts'
import { messageOf, toFailure } from '../../../kernel/errors.ts'
import type { KeyRecord, Message, Scope } from './protocol.ts'
import { type Effect, init, type State, transition, viewOf } from './state.ts'

export interface Ports {
  /** From now on requests of administration are told to `self`; the returned function ends that. */
  listen(self: Self<Message>): () => void
  load(): Promise<{ scopes: Scope[]; keys: KeyRecord[]; routed: string[] }>
  keep(scope: Scope): Promise<void>
  /** A new key: its id, the secret itself, and the digest that is kept. */
  mint(): { id: string; secret: string; sha256: string }
  store(key: KeyRecord): Promise<void>
  remove(key: KeyRecord): Promise<void>
  /** Lets routers admit the key. */
  route(key: KeyRecord): Promise<void>
  /** Takes the key from the routers' bucket and tells them at once. */
  unroute(sha256: string): Promise<void>
}

/** A write that failed is a crash: what the store has is read anew, and half done things are set right. */
export function accounts(ports: Ports): Behaviour<State, Message, Effect> {
  let silence = () => {}
  const watched = (written: Promise<unknown>, self: Self<Message>): void =>
    void written.catch((error) => self.tell({ type: 'unstored', reason: messageOf(error) }))
  return {
    init,
    transition,
    perform(effect, self) {
      switch (effect.do) {
        case 'load':
          silence = ports.listen(self)
          return void ports.load().then(
            (all) => self.tell({ type: 'loaded', ...all }),
            (error) => self.tell({ type: 'unloaded', reason: messageOf(error) }),
          )
        case 'keep':
          return watched(ports.keep(effect.scope), self)
        case 'mint': {
          const { name, scope, at, replyTo } = effect
          const { id, secret, sha256 } = ports.mint()
          const key: KeyRecord = { id, name, scope, sha256, createdAt: at }
          const made = ports.store(key).then(() => ports.route(key))
          return watched(
            answered(made, replyTo, () => {
              self.tell({ type: 'created', key })
              return { key: viewOf(key), secret }
            }),
            self,
          )
        }
        case 'revoke': {
          const { key, replyTo } = effect
          // the store first: a leader that dies in between leaves a key that its successor unroutes
          const gone = ports.remove(key).then(() => ports.unroute(key.sha256))
          return watched(
            answered(gone, replyTo, () => ({ done: true as const })),
            self,
          )
        }
        case 'route':
          return watched(ports.route(effect.key), self)
        case 'unroute':
          return watched(ports.unroute(effect.sha256), self)
        case 'answer':
          return effect.replyTo({ ok: true, value: { keys: effect.keys } })
        case 'refuse':
          return effect.replyTo({ ok: false, error: effect.failure })
      }
    },
    async stopped() {
      silence()
    },
  }
}

/** Answers when `work` is through, and ends as it ended. */
function answered<T>(
  work: Promise<void>,
  replyTo: (
    outcome: { ok: true; value: T } | { ok: false; error: ReturnType<typeof toFailure> },
  ) => void,
  value: () => T,
): Promise<void> {
  return work.then(
    () => replyTo({ ok: true, value: value() }),
    (error) => {
      replyTo({ ok: false, error: toFailure(error, 'LLMGW_STORE_FAILED', { key: 'the key' }) })
      throw error
    },
  )
}
