// The figures of the endpoint for Prometheus; names that users send never become labels.
import type { Logger } from '../../../kernel/log.ts'
import type { Metrics } from '../../../kernel/metrics.ts'
import type { Gate } from '../admission/gate.ts'
import type { Buffers } from '../request/buffers.ts'
import type { Meter } from '../request/ports.ts'
import type { TableSnapshot } from '../table/protocol.ts'
import type { Seats } from '../table/seats.ts'

/** What is read at each scrape. */
export type Gauges = {
  gate: Gate
  seats: Seats
  buffers: Buffers
  tables: { readonly current: TableSnapshot }
}

const seconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600]

/** The label `model` is a known one's name, or empty. Requests that failed are also logged. */
export function createMeter(
  metrics: Metrics,
  log: Logger,
  { gate, seats, buffers, tables }: Gauges,
): Meter {
  const requests = metrics.counter({
    name: 'llmgw_requests_total',
    help: 'Requests by status; 499: the client left',
    labels: ['status', 'model'],
    maxSeries: 2000,
  })
  const durations = metrics.histogram({
    name: 'llmgw_request_duration_seconds',
    help: 'From the arrival of a chat request to the end of its answer',
    labels: ['model'],
    buckets: seconds,
  })
  const firstBytes = metrics.histogram({
    name: 'llmgw_first_byte_seconds',
    help: 'From the arrival of a chat request to the first byte of an engine',
    labels: ['model'],
    buckets: seconds,
  })
  const failures = metrics.counter({
    name: 'llmgw_tries_failed_total',
    help: 'Tries at an engine that came to nothing, by the reason',
    labels: ['model', 'why'],
    maxSeries: 2000,
  })
  metrics.gauge({
    name: 'llmgw_requests_in_flight',
    help: 'Chat requests that are admitted and have not ended',
    labels: [],
    collect: (set) => set({}, gate.held),
  })
  metrics.gauge({
    name: 'llmgw_replica_requests',
    help: 'Tries that run on a replica',
    labels: ['replica'],
    collect(set) {
      for (const { replica, sittings } of seats.all()) set({ replica }, sittings.size)
    },
  })
  metrics.gauge({
    name: 'llmgw_replica_ghosts',
    help: 'Requests that were given up and that a replica may still work on',
    labels: ['replica'],
    collect(set) {
      for (const { replica, ghosts } of seats.all()) set({ replica }, ghosts.length)
    },
  })
  metrics.gauge({
    name: 'llmgw_buffered_bytes',
    help: 'Bytes of requests and answers held in memory',
    labels: [],
    collect: (set) => set({}, buffers.usedBytes),
  })
  metrics.gauge({
    name: 'llmgw_table_revision',
    help: 'Revision of the routing table',
    labels: [],
    collect: (set) => set({}, tables.current.revision),
  })
  return {
    ended(end) {
      const { status, model, durationMs } = end
      if (status >= 500) log.warn(end, 'a request failed')
      else log.debug(end, 'a request ended')
      requests.inc({ status: String(status), model: model ?? '' })
      if (model !== null) durations.observe({ model }, durationMs / 1000)
    },
    firstByte: (model, waitedMs) => firstBytes.observe({ model }, waitedMs / 1000),
    tryFailed: (model, why) => failures.inc({ model, why }),
  }
}
