// The wiring of the leader: a candidate, and beneath it, while it leads, the actors that decide.
import { randomUUID } from 'node:crypto'
import { accounts } from '../actors/cluster/accounts/actor.ts'
import { accountsPorts } from '../actors/cluster/accounts/io/ports.ts'
import { catalog } from '../actors/cluster/catalog/actor.ts'
import { catalogPorts } from '../actors/cluster/catalog/io/ports.ts'
import type { Message as CatalogMessage } from '../actors/cluster/catalog/protocol.ts'
import { election } from '../actors/cluster/election/actor.ts'
import { LeaseAuthority } from '../actors/cluster/election/io/authority.ts'
import { leasePorts } from '../actors/cluster/election/io/lease.ts'
import { ownIdentity } from '../actors/cluster/election/io/process-identity.ts'
import type { Message as ElectionMessage, Instant } from '../actors/cluster/election/protocol.ts'
import type { Timing } from '../actors/cluster/election/state.ts'
import { Reign } from '../actors/cluster/io/reign.ts'
import { members } from '../actors/cluster/members/actor.ts'
import { membersPorts } from '../actors/cluster/members/io/ports.ts'
import type { Message as MembersMessage } from '../actors/cluster/members/protocol.ts'
import { placement } from '../actors/cluster/placement/actor.ts'
import { placementPorts } from '../actors/cluster/placement/io/ports.ts'
import type { Message as PlacementMessage } from '../actors/cluster/placement/protocol.ts'
import type { Behaviour, ChildSpec } from '../kernel/actor.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Logger } from '../kernel/log.ts'
import { stay } from '../kernel/step.ts'
import type { System } from '../kernel/system.ts'
import type { Bus } from '../transport/bus.ts'
import { deriveReplicaKey } from '../transport/identity.ts'
import type { Store } from '../transport/store.ts'

export type Leading = {
  /** Of this candidate. */
  name: string
  timing: Timing
  /** This set-up has just made the store, so nobody can hold the lease yet. */
  freshStore: boolean
  engineSecret: Uint8Array
  system: System
  bus: Bus
  store: Store
  clock: Clock
  log: Logger
}

/** What all actors here have in common. */
const steady = {
  restart: 'permanent',
  intensity: 5,
  /** With five restarts, a fault that a pause can mend has the time to pass. */
  periodMs: 60_000,
  delayMs: { min: 200, max: 5000 },
  capacity: 1024,
  overflow: 'refuse',
  /** Giving the lease back takes two requests at most. */
  stopMs: 5000,
} as const

/** Starts the candidate. It leads when it gets the lease, and gives it back when the system stops. */
export async function startLeading(options: Leading): Promise<void> {
  const { name, timing, freshStore, system, store, bus, clock, log } = options
  const self = await ownIdentity()
  const now = (): Instant => ({
    monotonicMs: clock.monotonicMs(),
    bootMs: clock.bootMs(),
    wallMs: clock.wallMs(),
  })
  const warn = (problem: string) => log.warn({ problem }, 'the lease')
  const authority = new LeaseAuthority(now)
  const at = system.address<ElectionMessage>('election')
  const child = leadingActors(options, (token) => {
    const onDeposed = () => at.tell({ type: 'deposed', token })
    return new Reign({ token, store, bus, authority, log, onDeposed })
  })
  const holder = { node: name, boot: self.bootId, uid: randomUUID() }
  const behaviour = election(
    { holder, process: self, timing, freshStore },
    {
      ...leasePorts(store, () => bus.epoch, self, warn),
      now,
      random: Math.random,
      authority,
      child(token) {
        log.info({ leadership: token }, 'leading')
        return child(token)
      },
    },
  )
  system.spawn({ ...steady, name: 'election', at, behaviour })
}

/** In order: whoever is told stands before whoever tells it, and starts anew with it. */
function leadingActors(options: Leading, reignOf: (token: number) => Reign) {
  const { name, system, clock, engineSecret } = options
  const placing = system.address<PlacementMessage>('placement')
  const cataloguing = system.address<CatalogMessage>('catalog')
  const listening = system.address<MembersMessage>('members')
  const engineKey = (replica: string) => deriveReplicaKey(engineSecret, replica)
  return (token: number): ChildSpec<null, never, never> => {
    const reign = reignOf(token)
    const leader = { name, pid: process.pid, token }
    return {
      ...steady,
      name: 'leading',
      restart: 'temporary',
      strategy: 'rest-for-one',
      behaviour: supervisor,
      children: [
        {
          ...steady,
          name: 'placement',
          at: placing,
          behaviour: placement(leader, placementPorts(reign, engineKey), (learnt) =>
            cataloguing.tell({ type: 'learnt', ...learnt }),
          ),
        },
        { ...steady, name: 'accounts', behaviour: accounts(accountsPorts(reign, clock)) },
        {
          ...steady,
          name: 'catalog',
          at: cataloguing,
          behaviour: catalog(catalogPorts(reign, clock), (models) =>
            placing.tell({ type: 'models', models }),
          ),
        },
        {
          ...steady,
          name: 'members',
          at: listening,
          capacity: 8192,
          behaviour: members(membersPorts(reign), (all) =>
            placing.tell({ type: 'members', members: all }),
          ),
        },
      ],
    }
  }
}

/** Says and hears nothing: it holds the others. */
const supervisor: Behaviour<null, never, never> = {
  init: () => stay(null),
  transition: stay,
  perform: () => {},
}
