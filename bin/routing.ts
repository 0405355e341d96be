// The wiring of the router: the actors of table and admission, the request path between client and engine, the endpoint.
import { createHash, randomBytes } from 'node:crypto'
import { admission } from '../actors/router/admission/actor.ts'
import { openGate } from '../actors/router/admission/gate.ts'
import type {
  Message as AdmissionMessage,
  KeysSnapshot,
} from '../actors/router/admission/protocol.ts'
import { type Endpoint, startEndpoint } from '../actors/router/io/endpoint.ts'
import { engineBusy } from '../actors/router/io/engine-counts.ts'
import {
  createForwarding,
  type Forwarding,
  type ForwardTimeouts,
} from '../actors/router/io/forward.ts'
import { createMeter } from '../actors/router/io/meter.ts'
import { gatherTryEnds } from '../actors/router/io/try-ends.ts'
import { Buffers } from '../actors/router/request/buffers.ts'
import { createPath } from '../actors/router/request/path.ts'
import type { PathPorts } from '../actors/router/request/ports.ts'
import { table } from '../actors/router/table/actor.ts'
import {
  emptyTable,
  type Mirrored,
  type Message as TableMessage,
  type TableSnapshot,
} from '../actors/router/table/protocol.ts'
import { Seats } from '../actors/router/table/seats.ts'
import { engineByName } from '../engines/index.ts'
import type { Behaviour, ChildSpec, Ref } from '../kernel/actor.ts'
import type { Logger } from '../kernel/log.ts'
import type { Metrics } from '../kernel/metrics.ts'
import { stay } from '../kernel/step.ts'
import type { System } from '../kernel/system.ts'
import type { MirrorEffect, MirrorMessage, MirrorState } from '../transport/mirror-state.ts'

export type RoutingOptions = {
  system: System
  metrics: Metrics
  log: Logger
  limits: { bodyBytes: number; bufferedBytes: number }
  timeouts: ForwardTimeouts
  /** The key that a replica's engine expects. */
  keyOf(replica: string): string
  /** Live requests and ghosts by replica, once a second. */
  report(holds: Record<string, number>, revision: number): void
  /** What feeds the table; without it `mirrored` does. */
  mirror?(owner: (event: Mirrored) => void): ChildSpec<MirrorState, MirrorMessage, MirrorEffect>
}

export interface Routing {
  mirrored(event: Mirrored): void
  readonly admission: Ref<AdmissionMessage>
  /** Resolves when table and keys are known: before that every request would be refused. */
  readonly listed: Promise<unknown>
  /** Begins to serve; the port. Throws what the HTTP server does where it cannot listen. */
  listen(address: { host: string; port: number }): Promise<number>
  /** What this router has at work at this moment. */
  readonly now: { held: number; running: number; bufferedBytes: number; seats: Seats }
  /** Lets requests finish for at most `drainMs`, then ends them and the endpoint. */
  stop(drainMs: number): Promise<void>
}

/** For each actor of the router: a fault is tried again soon, five within a minute end the program. */
const steady = {
  restart: 'permanent',
  intensity: 5,
  periodMs: 60_000,
  delayMs: { min: 100, max: 5000 },
  capacity: 65_536,
  overflow: 'refuse',
  stopMs: 1000,
} as const

/** Starts the actors; nothing is served before `listen`. */
export function startRouting(options: RoutingOptions): Routing {
  const { metrics, log, limits, keyOf } = options
  const seats = new Seats()
  const gate = openGate()
  const buffers = new Buffers(limits.bufferedBytes)
  const forward = createForwarding({
    timeouts: options.timeouts,
    keyOf,
    onTrouble: (it) => log.warn(it, 'a try failed'),
  })
  const { tables, keys, mirrored, tableAt, admissionAt } = startTables(options, seats, forward)

  const ids = randomBytes(9).toString('base64url')
  let requests = 0
  let turns = 0
  let ending = false
  const ports: PathPorts = {
    table: tables,
    keys,
    seats,
    gate,
    buffers,
    forward,
    meter: createMeter(metrics, log, { gate, seats, buffers, tables }),
    tell: gatherTryEnds((tries) => tableAt.tell({ type: 'ended', tries })),
    alwaysStream: (engine) => engineByName(engine)?.alwaysStream ?? false,
    digest: (secret) => createHash('sha256').update(secret).digest('hex'),
    newId: () => `req_${ids}${(requests++).toString(36)}`,
    nextTurn: () => turns++,
    now: () => performance.now(),
    metricsPage: async () => ({ type: metrics.contentType, text: await metrics.text() }),
    bodyLimitBytes: limits.bodyBytes,
    get ending() {
      return ending
    },
  }
  const path = createPath(ports)
  let endpoint: Endpoint | null = null
  return {
    mirrored,
    admission: admissionAt,
    listed: Promise.all([tables.listed, keys.listed]),
    async listen(address) {
      endpoint = await startEndpoint(address, path)
      return endpoint.port
    },
    now: {
      get held() {
        return gate.held
      },
      get running() {
        return path.running
      },
      get bufferedBytes() {
        return buffers.usedBytes
      },
      seats,
    },
    async stop(drainMs) {
      ending = true
      await endpoint?.stop(drainMs)
      await forward.close()
    },
  }
}

/** The actors that hold what the path reads, and the mirror that feeds them. */
function startTables(options: RoutingOptions, seats: Seats, forward: Forwarding) {
  const { system, log, keyOf, report, mirror } = options
  const tables = new Published<TableSnapshot>(emptyTable)
  const keys = new Published<KeysSnapshot>(new Map())
  const tableAt = system.address<TableMessage>('table')
  const admissionAt = system.address<AdmissionMessage>('admission')
  const mirrored = (event: Mirrored): void => {
    for (const at of [tableAt, admissionAt] as Ref<Mirrored>[]) {
      if (!at.tell(event)) log.error({ actor: at.name }, 'a change of the table was not taken')
    }
  }
  const warn = (key: string, problem: string): void =>
    log.warn({ key, problem }, 'an entry of the table cannot be read')
  const tableActor = table(
    {
      publish: (it) => tables.publish(it),
      busy: (route) => engineBusy(route, keyOf(route.replica)),
      report,
      forget: (replica) => forward.forget(replica),
      warn,
    },
    seats,
  )
  const admissionActor = admission({ publish: (it) => keys.publish(it), warn })
  system.spawn({
    ...steady,
    name: 'routes',
    behaviour: group,
    // with whoever holds a part of the table the mirror starts too, which then tells it all anew
    strategy: 'rest-for-one',
    children: [
      { ...steady, name: 'table', at: tableAt, behaviour: tableActor },
      { ...steady, name: 'admission', at: admissionAt, behaviour: admissionActor },
      ...(mirror ? [mirror(mirrored)] : []),
    ],
  })
  return { tables, keys, mirrored, tableAt, admissionAt }
}

/** What an actor publishes and the request path reads. */
class Published<S> {
  current: S
  /** Resolves with the first publication. */
  readonly listed: Promise<void>
  #resolve: () => void = () => {}

  constructor(first: S) {
    this.current = first
    this.listed = new Promise((resolve) => {
      this.#resolve = resolve
    })
  }

  publish(snapshot: S): void {
    this.current = snapshot
    this.#resolve()
  }
}

/** Holds children together and has no affairs of its own. */
const group: Behaviour<null, never, never> = {
  init: () => stay(null),
  transition: (state) => stay(state),
  perform: () => undefined,
}
