// The counters beside the table: what this router has on each replica at this moment.
import type { Ghost } from './protocol.ts'

/** One try at a replica while it runs; times in milliseconds, monotonic. */
export type Sitting = {
  /** When the request went out; null while it is being connected. */
  sentAt: number | null
  /** When its answer began, and prefill was over. */
  answeringAt: number | null
}

export type Seat = { readonly replica: string; readonly sittings: Set<Sitting>; ghosts: Ghost[] }

/** A request that was sent this long ago stands in the engine's own counts. */
const settledMs = 1000

export class Seats {
  readonly #seats = new Map<string, Seat>()

  at(replica: string): Seat {
    const known = this.#seats.get(replica)
    if (known) return known
    const made: Seat = { replica, sittings: new Set(), ghosts: [] }
    this.#seats.set(replica, made)
    return made
  }

  /** Live requests and ghosts. */
  load(replica: string): number {
    const seat = this.#seats.get(replica)
    return seat ? seat.sittings.size + seat.ghosts.length : 0
  }

  /** Requests that an engine asked at `askedAt` surely counted, and that have not ended since. */
  settled(replica: string, askedAt: number): number {
    let count = 0
    for (const { sentAt, answeringAt } of this.at(replica).sittings) {
      const settledAt = answeringAt ?? (sentAt === null ? null : sentAt + settledMs)
      if (settledAt !== null && settledAt <= askedAt) count += 1
    }
    return count
  }

  endGhosts(replica: string, ended: readonly Ghost[] | 'all'): void {
    const seat = this.at(replica)
    seat.ghosts = ended === 'all' ? [] : seat.ghosts.filter((ghost) => !ended.includes(ghost))
  }

  /** Forgets the seats on which nothing is left and that `known` does not name. */
  forgetAllBut(known: ReadonlySet<string>): void {
    for (const { replica, sittings, ghosts } of this.#seats.values()) {
      if (sittings.size + ghosts.length === 0 && !known.has(replica)) this.#seats.delete(replica)
    }
  }

  all(): IterableIterator<Seat> {
    return this.#seats.values()
  }
}
