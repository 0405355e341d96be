// Metrics: the page, its labels, and the bound on series.
import t from 'tap'
import { createMetrics } from '../../../kernel/metrics.ts'

t.test('the page has our metrics, the process’s, and who they are of', async (t) => {
  const metrics = createMetrics({ program: 'llmgw-router', name: 'router-1' })
  metrics.counter({ name: 'a_total', help: 'A', labels: ['model'] }).inc({ model: 'm' }, 2)
  metrics
    .histogram({ name: 'b_seconds', help: 'B', labels: ['model'], buckets: [1, 2] })
    .observe({ model: 'm' }, 1.5)
  const text = await metrics.text()
  t.match(text, 'a_total{model="m",program="llmgw-router",name="router-1"} 2')
  t.match(text, /^b_seconds_bucket\{le="2",.*model="m".*\} 1$/m)
  t.match(text, 'process_resident_memory_bytes{program="llmgw-router"')
  t.match(metrics.contentType, 'text/plain')
})

t.test('past the bound further label values count as "other"', async (t) => {
  const metrics = createMetrics({ program: 'p', name: 'n' })
  const counter = metrics.counter({ name: 'a_total', help: 'A', labels: ['model'], maxSeries: 2 })
  for (const model of ['x', 'y', 'z', 'w', 'x']) counter.inc({ model })
  const text = await metrics.text()
  t.match(text, 'a_total{model="x",program="p",name="n"} 2')
  t.match(text, 'a_total{model="other",program="p",name="n"} 2')
  t.notMatch(text, 'model="z"')
})

t.test('a collected gauge forgets what is not set any more', async (t) => {
  const metrics = createMetrics({ program: 'p', name: 'n' })
  let models = ['x', 'y']
  const collect = (set: (labels: { model: string }, value: number) => void) => {
    for (const model of models) set({ model }, 1)
  }
  metrics.gauge({ name: 'g', help: 'G', labels: ['model'], collect })
  t.match(await metrics.text(), 'model="x"')
  models = ['y']
  const text = await metrics.text()
  t.notMatch(text, 'model="x"')
  t.match(text, 'model="y"')
})
