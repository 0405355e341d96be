// The keeper of the routing table: performs what its state decides, and publishes the table for the request path.
import type { Behaviour } from '../../../kernel/actor.ts'
import type { Route } from '../../../transport/contract/route.ts'
import type { Message, TableSnapshot } from './protocol.ts'
import type { Seats } from './seats.ts'
import { type Effect, init, type State, transition } from './state.ts'

export interface TablePorts {
  /** Replaces the table that the request path reads. */
  publish(snapshot: TableSnapshot): void
  /** Requests that run or wait in the replica's engine, read after the call; null where it does not tell. Never throws. */
  busy(route: Route): Promise<number | null>
  /** Live requests and ghosts by replica, said to the leader. */
  report(holds: Record<string, number>, revision: number): void
  /** No request will go to that replica any more. */
  forget(replica: string): void
  warn(key: string, problem: string): void
}

/** After an engine has told its counts, so long for ends that it sent before to arrive on other connections. */
const graceMs = 100

export const table = (ports: TablePorts, seats: Seats): Behaviour<State, Message, Effect> => ({
  init,
  transition,
  perform(effect, self) {
    switch (effect.do) {
      case 'publish':
        return ports.publish(effect.snapshot)
      case 'recall': {
        // counters outlive a crash of this actor
        const replicas = [...seats.all()].filter((it) => it.ghosts.length > 0)
        self.tell({ type: 'haunted', replicas: replicas.map((it) => it.replica) })
        return
      }
      case 'check': {
        const { replica } = effect.route
        const askedAt = self.now()
        return void ports
          .busy(effect.route)
          .then((busy) => self.after(graceMs, { type: 'counted', replica, askedAt, busy }))
      }
      case 'judge': {
        const { replica, askedAt, busy } = effect
        const { ghosts } = seats.at(replica)
        const settled = seats.settled(replica, askedAt)
        const check = { replica, askedAt, busy, settled, ghosts, now: self.now() }
        self.tell({ type: 'checked', check })
        return
      }
      case 'wait':
        return self.after(effect.delayMs, effect.message)
      case 'end-ghosts':
        return seats.endGhosts(effect.replica, effect.ghosts)
      case 'report': {
        seats.forgetAllBut(effect.replicas)
        return ports.report(holdsOf(seats), effect.revision)
      }
      case 'forget':
        return ports.forget(effect.replica)
      case 'warn':
        return ports.warn(effect.key, effect.problem)
    }
  },
})

const holdsOf = (seats: Seats): Record<string, number> =>
  Object.fromEntries(
    [...seats.all()].map((it) => [it.replica, it.sittings.size + it.ghosts.length]),
  )
