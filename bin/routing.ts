// The wiring of the router: the actors of table and admission, the request path between client and engine, the endpoint.
import { createHash, randomBytes } from 'node:crypto'
import { admission } from '../actors/router/admission/actor.ts'
import { openGate } from '../actors/router/admission/gate.ts'
import type {
  Message as AdmissionMessage,
  KeysSnapshot,
} from '../actors/router/admission/protocol.ts'
import { startEndpoint } from '../actors/router/io/endpoint.ts'
import { engineBusy } from '../actors/router/io/engine-counts.ts'
import { createForwarding, type ForwardTimeouts } from '../actors/router/io/forward.ts'
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
} from '../actors/router/table/protocol.ts'
import { Seats } from '../actors/router/table/seats.ts'
import { engineByName } from '../engines/index.ts'
import type { Behaviour, ChildSpec, Ref } from '../kernel/actor.ts'
import type { Logger } from '../kernel/log.ts'
import type { Metrics } from '../kernel/metrics.ts'
import { stay } from '../kernel/step.ts'
import type { System } from '../kernel/system.ts'

export type RoutingOptions = {
  system: System
  metrics: Metrics
  log: Logger
  listen: { host: string; port: number }
  limits: { bodyBytes: number; bufferedBytes: number }
  timeouts: ForwardTimeouts
  /** The key that a replica's engine expects. */
  keyOf(replica: string): string
  /** Live requests and ghosts by replica, once a second. */
  report(holds: Readonly<Record<string, number>>, revision: number): void
  /** The mirror that feeds the table; without one it is fed by `routing.mirrored`. */
  mirror?(owner: (event: Mirrored) => void): ChildSpec<never, never, never>
}

export interface Routing {
  readonly port: number
  /** What the mirror tells. */
  mirrored(event: Mirrored): void
  /** A key that works no longer, whatever the mirror still holds. */
  revoked(sha256: string): void
  /** What this router has at work at this moment. */
  readonly now: { held: number; running: number; bufferedBytes: number; seats: Seats }
  /** Lets requests finish for at most `drainMs`. */
  stop(drainMs: number): Promise<void>
}

const steady = {
  restart: 'permanent',
  intensity: 5,
  periodMs: 60_000,
  delayMs: { min: 100, max: 5000 },
  capacity: 65_536,
  overflow: 'refuse',
  stopMs: 1000,
} as const

/** Starts actors and endpoint. Throws what the HTTP server does where it cannot listen. */
export async function startRouting(options: RoutingOptions): Promise<Routing> {
  const { system, metrics, log, limits, keyOf } = options
  const seats = new Seats()
  const published = { current: emptyTable }
  const keys: { current: KeysSnapshot } = { current: new Map() }
  const gate = openGate()
  const buffers = new Buffers(limits.bufferedBytes)
  const forwarding = createForwarding(options.timeouts, keyOf)

  const tableAt = system.address<TableMessage>('table')
  const admissionAt = system.address<AdmissionMessage>('admission')
  const mirrored = (event: Mirrored): void => {
    for (const at of [tableAt, admissionAt] as Ref<Mirrored>[]) {
      if (!at.tell(event)) log.error({ actor: at.name }, 'a change of the table was not taken')
    }
  }
  const warn = (key: string, problem: string): void =>
    log.warn({ key, problem }, 'an entry of the table cannot be read')
  const tablePorts = {
    busy: (route: Parameters<typeof engineBusy>[0]) => engineBusy(route, keyOf(route.replica)),
    report: options.report,
    forget: (replica: string) => forwarding.forget(replica),
    warn,
  }
  const publish = (it: KeysSnapshot): void => {
    keys.current = it
  }
  system.spawn({
    ...steady,
    name: 'routes',
    behaviour: group,
    // whoever holds the table starts with the mirror, which then tells it all anew
    strategy: 'rest-for-one',
    children: [
      { ...steady, name: 'table', at: tableAt, behaviour: table(tablePorts, published, seats) },
      { ...steady, name: 'admission', at: admissionAt, behaviour: admission({ publish, warn }) },
      ...(options.mirror ? [options.mirror(mirrored)] : []),
    ],
  })

  let turn = 0
  let requests = 0
  const prefix = randomBytes(9).toString('base64url')
  const ports = {
    table: published,
    keys,
    seats,
    gate,
    buffers,
    forward: forwarding,
    meter: createMeter(metrics, {
      gate,
      seats,
      buffers,
      tableRevision: () => published.current.revision,
    }),
    tell: gatherTryEnds((tries) => tableAt.tell({ type: 'ended', tries })),
    alwaysStream: (engine) => engineByName(engine)?.alwaysStream ?? false,
    digest: (secret) => createHash('sha256').update(secret).digest('hex'),
    newId: () => `req_${prefix}${(requests++).toString(36)}`,
    nextTurn: () => turn++,
    now: () => performance.now(),
    metricsPage: async () => ({ type: metrics.contentType, text: await metrics.text() }),
    bodyLimitBytes: limits.bodyBytes,
    ending: false,
  } satisfies PathPorts as { -readonly [K in keyof PathPorts]: PathPorts[K] }
  const path = createPath(ports)
  const endpoint = await startEndpoint(options.listen, path)
  return {
    port: endpoint.port,
    mirrored,
    revoked: (sha256) => void admissionAt.tell({ type: 'revoked', sha256 }),
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
      ports.ending = true
      await endpoint.stop(drainMs)
      await forwarding.close()
    },
  }
}

/** Holds children together and has no affairs of its own. */
const group: Behaviour<null, never, never> = {
  init: () => stay(null),
  transition: (state) => stay(state),
  perform: () => undefined,
}
