// The candidate for leadership: what it needs of the world, and how its effects are performed.
import type { Behaviour, ChildSpec, Ref } from '../../../kernel/actor.ts'
import { messageOf } from '../../../kernel/errors.ts'
import type { Instant, LeaseRecord, Message, Sight } from './protocol.ts'
import { type Candidate, type Effect, init, recordOf, type State, transition } from './state.ts'

/** What the acting leader asks before each act; it refuses by itself once the time is over. */
export interface Authority {
  /** Leadership `token` may act until `untilMs` after `sent`. */
  extend(token: number, sent: Instant, untilMs: number): void
  end(): void
}

export interface Ports {
  now(): Instant
  /** From 0 to 1. */
  random(): number
  /** Rejects when the store cannot be read. */
  look(): Promise<Sight>
  /** Resolves with the new revision or the refusal; never rejects. */
  store(record: LeaseRecord, expect: number): Promise<number | 'mismatch' | 'unknown'>
  readonly authority: Authority
  /** Never rejects. `deposed`: a higher token stands there. */
  fence(token: number): Promise<'fenced' | 'failed' | 'deposed'>
  /** The actors that lead; they end with the leadership. */
  // biome-ignore lint/suspicious/noExplicitAny: the subtree's messages are none of the candidate's business
  child(token: number): ChildSpec<any, any, any>
  /** Marks the lease as given back; never rejects: at worst the successor waits. */
  release(record: LeaseRecord, revision: number): Promise<void>
}

/** Leads while it holds the lease. A stop gives the lease back once the subtree is gone. */
export function election(me: Candidate, ports: Ports): Behaviour<State, Message, Effect> {
  let subtree: Ref<never> | undefined
  return {
    init: () => init(me),
    transition,
    perform(effect, self) {
      switch (effect.do) {
        case 'wait':
          return self.after(effect.delayMs + effect.jitterMs * ports.random(), effect.message)
        case 'look': {
          const { attempt } = effect
          return void ports.look().then(
            (sight) => self.tell({ type: 'seen', attempt, at: ports.now(), sight }),
            () => self.tell({ type: 'unseen', attempt, at: ports.now() }),
          )
        }
        case 'store': {
          const { attempt } = effect
          const sent = ports.now()
          return void ports.store(effect.record, effect.expect).then((answer) => {
            const at = ports.now()
            if (answer === 'mismatch') self.tell({ type: 'mismatched', attempt, at })
            else if (answer === 'unknown') self.tell({ type: 'unanswered', attempt, at })
            else self.tell({ type: 'stored', attempt, sent, at, revision: answer })
          })
        }
        case 'authorize':
          return ports.authority.extend(effect.token, effect.sent, effect.untilMs)
        case 'revoke':
          return ports.authority.end()
        case 'fence': {
          const { token } = effect
          const facts = { fenced: 'fenced', failed: 'unfenced', deposed: 'deposed' } as const
          return void ports.fence(token).then((end) => self.tell({ type: facts[end], token }))
        }
        case 'lead': {
          const { token } = effect
          subtree = self.spawn(ports.child(token))
          return self.watch(subtree, ({ reason, error }) => {
            const text = error === undefined ? reason : messageOf(error)
            return { type: 'fallen', token, reason: text }
          })
        }
        case 'step-down': {
          const { token } = effect
          const gone = subtree === undefined ? Promise.resolve() : self.stop(subtree)
          return void gone.then(() => self.tell({ type: 'stepped-down', token }))
        }
      }
    },
    async stopped(state) {
      if (state.phase !== 'fencing' && state.phase !== 'acting') return
      ports.authority.end()
      await ports.release(recordOf(state.me, state.epoch, true), state.revision)
    },
  }
}
