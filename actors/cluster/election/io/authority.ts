// The right to act for as long as the lease surely lasts, asked before each act.
import type { Authority } from '../actor.ts'
import type { Instant } from '../protocol.ts'
import { elapsedAtMost } from '../state.ts'

/** The present leadership as the actors that lead see it. */
export class LeaseAuthority implements Authority {
  readonly #now: () => Instant
  #grant: { token: number; sent: Instant; untilMs: number } | undefined

  constructor(now: () => Instant) {
    this.#now = now
  }

  extend(token: number, sent: Instant, untilMs: number): void {
    this.#grant = { token, sent, untilMs }
  }

  end(): void {
    this.#grant = undefined
  }

  /** What remains for leadership `token`; 0 once it is over. */
  remainingMs(token: number): number {
    if (this.#grant?.token !== token) return 0
    return Math.max(0, this.#grant.untilMs - elapsedAtMost(this.#grant.sent, this.#now()))
  }
}
