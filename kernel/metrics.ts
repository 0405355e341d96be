// The metrics of a program for Prometheus: with a bound on the series, so that no label can eat the memory.
import {
  collectDefaultMetrics,
  Counter as PromCounter,
  Gauge as PromGauge,
  Histogram as PromHistogram,
  Registry,
} from 'prom-client'

type Labels<L extends string> = Readonly<Record<L, string>>

type Counter<L extends string> = { inc(labels: Labels<L>, by?: number): void }
type Gauge<L extends string> = { set(labels: Labels<L>, value: number): void }
type Histogram<L extends string> = { observe(labels: Labels<L>, value: number): void }

type MetricOptions<L extends string> = {
  /** With the unit as its end (`_seconds`, `_bytes`), counters with `_total`. */
  name: string
  help: string
  labels: readonly L[]
  /** Combinations of labels that are kept; further ones count as "other" in each label. Default 200. */
  maxSeries?: number
}

export interface Metrics {
  counter<L extends string>(options: MetricOptions<L>): Counter<L>
  /** With `collect` it is read anew at each scrape, and what is not set then is gone. */
  gauge<L extends string>(
    options: MetricOptions<L> & { collect?: (set: Gauge<L>['set']) => void },
  ): Gauge<L>
  /** `buckets` in the unit of the name, ascending. */
  histogram<L extends string>(options: MetricOptions<L> & { buckets: number[] }): Histogram<L>
  /** The page for `/metrics`. */
  text(): Promise<string>
  readonly contentType: string
}

/** A registry of its own with the process's figures; `program` and `name` (of this instance) stand in each series. */
export function createMetrics(options: { program: string; name: string }): Metrics {
  const registry = new Registry()
  registry.setDefaultLabels(options)
  collectDefaultMetrics({ register: registry })
  const registers = [registry]
  return {
    counter({ name, help, labels, maxSeries }) {
      const counter = new PromCounter({ name, help, labelNames: labels, registers })
      const bound = boundLabels(labels, maxSeries)
      return { inc: (values, by = 1) => counter.inc(bound(values), by) }
    },
    gauge({ name, help, labels, maxSeries, collect }) {
      let bound = boundLabels(labels, maxSeries)
      const set = (values: Labels<(typeof labels)[number]>, value: number) =>
        gauge.set(bound(values), value)
      const collectAnew = () => {
        gauge.reset()
        bound = boundLabels(labels, maxSeries)
        collect?.(set)
      }
      const gauge: PromGauge<(typeof labels)[number]> = new PromGauge({
        name,
        help,
        labelNames: labels,
        registers,
        ...(collect && { collect: collectAnew }),
      })
      return { set }
    },
    histogram({ name, help, labels, maxSeries, buckets }) {
      const histogram = new PromHistogram({ name, help, labelNames: labels, buckets, registers })
      const bound = boundLabels(labels, maxSeries)
      return { observe: (values, value) => histogram.observe(bound(values), value) }
    },
    text: () => registry.metrics(),
    contentType: registry.contentType,
  }
}

function boundLabels<L extends string>(
  labels: readonly L[],
  maxSeries = 200,
): (values: Labels<L>) => Labels<L> {
  const known = new Set<string>()
  const other = Object.fromEntries(labels.map((label) => [label, 'other'])) as Labels<L>
  return (values) => {
    const series = JSON.stringify(labels.map((label) => values[label]))
    if (known.has(series)) return values
    if (known.size >= maxSeries) return other
    known.add(series)
    return values
  }
}
