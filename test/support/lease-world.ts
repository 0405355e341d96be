// Candidates for leadership on a virtual clock, over a store whose answers are late, lost, or applied after all.
import type {
  Instant,
  LeaseRecord,
  Message,
  Sight,
} from '../../actors/cluster/election/protocol.ts'
import {
  type Candidate,
  type Effect,
  elapsedAtMost,
  init,
  type State,
  transition,
} from '../../actors/cluster/election/state.ts'
import type { Step } from '../../kernel/step.ts'

/** How one request goes: until it is applied, and from then until its answer is there. */
export type Way = { thereMs: number; backMs: number }

/** What happens to a candidate at some time. */
export type Mishap = { at: number; who: number } & (
  | { what: 'freeze'; forMs: number }
  | { what: 'suspend'; forMs: number }
  | { what: 'step-wall'; byMs: number }
  | { what: 'restart' }
)

type Runner = {
  me: Candidate
  state: State
  /** It does nothing before this time. */
  frozenUntil: number
  suspendedMs: number
  wallAheadMs: number
  /** How much faster its clocks run than true time. */
  rate: number
  grant: { token: number; sent: Instant; untilMs: number } | undefined
  life: number
}

export const timing = { lengthMs: 15_000, guardMs: 1500, renewMs: 2500 }
const requestMs = 1500

export const candidate = (uid: string, more: Partial<Candidate> = {}): Candidate => ({
  holder: { node: uid, boot: 'boot', uid },
  process: { bootId: uid, pidNamespace: 'pid:[1]', pid: 1, startTicks: 1 },
  timing,
  freshStore: false,
  ...more,
})

export class LeaseWorld {
  now = 0
  /** Each act: when, who, under which token. */
  readonly acts: { at: number; who: number; token: number }[] = []
  /** Times at which two could have acted. */
  readonly overlaps: string[] = []
  readonly #runners: Runner[]
  readonly #ways: Iterator<Way>
  #events: { at: number; order: number; run: () => void }[] = []
  #order = 0
  #stored: { record: LeaseRecord | null; revision: number } = { record: null, revision: 0 }

  constructor(rates: readonly number[], ways: Iterator<Way>, mishaps: readonly Mishap[]) {
    this.#ways = ways
    this.#runners = rates.map((rate, who) => {
      const me = candidate(`c${who}`)
      const [state] = init(me)
      return {
        me,
        state,
        frozenUntil: 0,
        suspendedMs: 0,
        wallAheadMs: who * 3_600_000,
        rate,
        grant: undefined,
        life: 0,
      }
    })
    for (const who of this.#runners.keys()) {
      this.#begin(who)
      this.#act(who)
    }
    for (const mishap of mishaps) this.#at(mishap.at, () => this.#meet(mishap))
  }

  /** Runs until `untilMs`; who acts then. */
  run(untilMs: number): number[] {
    for (;;) {
      this.#events.sort((a, b) => b.at - a.at || b.order - a.order)
      const next = this.#events.at(-1)
      if (next === undefined || next.at > untilMs) break
      this.#events.pop()
      this.now = Math.max(this.now, next.at)
      next.run()
    }
    this.now = untilMs
    return [...this.#runners.keys()].filter((who) => this.#mayAct(who))
  }

  #at(at: number, run: () => void): void {
    this.#order += 1
    this.#events.push({ at, order: this.#order, run })
  }

  /** In a candidate's own program: later where it is frozen, never after its restart. */
  #in(who: number, at: number, run: () => void): void {
    const { life } = this.#runner(who)
    const step = () => {
      const runner = this.#runner(who)
      if (runner.life !== life) return
      if (this.now < runner.frozenUntil) this.#at(runner.frozenUntil, step)
      else run()
    }
    this.#at(at, step)
  }

  #begin(who: number): void {
    this.#take(who, init(this.#runner(who).me))
  }

  #tell(who: number, message: Message): void {
    this.#take(who, transition(this.#runner(who).state, message))
  }

  #take(who: number, [state, effects]: Step<State, Effect>): void {
    this.#runner(who).state = state
    for (const effect of effects) this.#perform(who, effect)
  }

  #perform(who: number, effect: Effect): void {
    const runner = this.#runner(who)
    switch (effect.do) {
      case 'wait': {
        const jitter = effect.jitterMs * ((this.now % 97) / 97)
        this.#in(who, this.now + (effect.delayMs + jitter) / runner.rate, () =>
          this.#tell(who, effect.message),
        )
        break
      }
      case 'look': {
        const { attempt } = effect
        this.#request(
          who,
          (): Sight => ({
            ...this.#stored,
            created: 'once',
            streamLeader: '',
            epoch: 1,
            holderDead: false,
          }),
          (sight) => ({ type: 'seen', attempt, at: this.#instant(who), sight }),
          () => ({ type: 'unseen', attempt, at: this.#instant(who) }),
        )
        break
      }
      case 'store': {
        const { attempt, record, expect } = effect
        const sent = this.#instant(who)
        this.#request(
          who,
          () => {
            if (this.#stored.revision !== expect) return null
            this.#stored = { record, revision: this.#stored.revision + 1 }
            return this.#stored.revision
          },
          (revision) =>
            revision === null
              ? { type: 'mismatched', attempt, at: this.#instant(who) }
              : { type: 'stored', attempt, sent, at: this.#instant(who), revision },
          () => ({ type: 'unanswered', attempt, at: this.#instant(who) }),
        )
        break
      }
      case 'authorize':
        runner.grant = effect
        break
      case 'revoke':
        runner.grant = undefined
        break
      case 'fence':
        this.#in(who, this.now + 20, () => this.#tell(who, { type: 'fenced', token: effect.token }))
        break
      case 'step-down':
        this.#in(who, this.now + 200, () =>
          this.#tell(who, { type: 'stepped-down', token: effect.token }),
        )
        break
      case 'lead':
        break
    }
  }

  #request<T>(who: number, apply: () => T, answer: (it: T) => Message, none: () => Message): void {
    const way = this.#ways.next()
    const { thereMs, backMs } = way.done ? { thereMs: 1, backMs: 1 } : way.value
    let isOver = false
    const end = (message: () => Message) => () => {
      if (!isOver) {
        isOver = true
        this.#tell(who, message())
      }
    }
    const sentAt = this.now
    this.#at(sentAt + thereMs, () => {
      const applied = apply()
      this.#in(
        who,
        this.now + backMs,
        end(() => answer(applied)),
      )
    })
    this.#in(who, sentAt + requestMs, end(none))
  }

  /** Every 250 ms each tries to act. */
  #act(who: number): void {
    this.#at(this.now + 250, () => this.#act(who))
    const runner = this.#runner(who)
    if (this.now < runner.frozenUntil || !this.#mayAct(who)) return
    this.acts.push({ at: this.now, who, token: runner.grant?.token ?? 0 })
    for (const other of this.#runners.keys()) {
      if (other !== who && this.#mayAct(other))
        this.overlaps.push(`${who} and ${other} at ${this.now}`)
    }
  }

  #mayAct(who: number): boolean {
    const { state, grant } = this.#runner(who)
    if (state.phase !== 'acting' || grant?.token !== state.token) return false
    return elapsedAtMost(grant.sent, this.#instant(who)) < grant.untilMs
  }

  #meet(mishap: Mishap): void {
    const runner = this.#runner(mishap.who)
    switch (mishap.what) {
      case 'freeze':
        runner.frozenUntil = Math.max(runner.frozenUntil, this.now + mishap.forMs)
        break
      case 'suspend':
        runner.frozenUntil = Math.max(runner.frozenUntil, this.now + mishap.forMs)
        runner.suspendedMs += mishap.forMs
        break
      case 'step-wall':
        runner.wallAheadMs += mishap.byMs
        break
      case 'restart': {
        runner.life += 1
        runner.grant = undefined
        runner.me = candidate(`c${mishap.who}-${runner.life}`)
        this.#begin(mishap.who)
      }
    }
  }

  #runner(who: number): Runner {
    const runner = this.#runners[who]
    if (runner === undefined) throw new Error(`there is no candidate ${who}`)
    return runner
  }

  #instant(who: number): Instant {
    const { rate, suspendedMs, wallAheadMs } = this.#runner(who)
    const bootMs = this.now * rate
    return { monotonicMs: bootMs - suspendedMs, bootMs, wallMs: bootMs + wallAheadMs }
  }
}
