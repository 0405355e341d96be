// Asks an engine over HTTP whether it serves its model and what it counts.
import { Agent, request } from 'undici'
import type { Engine, Probe } from '../../../engines/engine.ts'
import type { Target } from '../phases.ts'
import type { Measure, Readiness } from '../protocol.ts'

/** An engine that loads answers at once or not at all. */
const probeWithinMs = 1000
/** A busy engine was seen to take 43 ms; a frozen one takes for ever. */
const measureWithinMs = 2000
const maxBytes = 1024 * 1024

const agent = new Agent({ maxResponseSize: maxBytes })

/** What the two probes of the description mean for its model. */
export async function probe(engine: Engine, target: Target): Promise<Readiness> {
  const [health, models] = await Promise.all([
    get(target, engine.probes.health, probeWithinMs),
    get(target, engine.probes.models, probeWithinMs),
  ])
  return engine.readiness(health, models, target.model)
}

/** An engine without metrics, or that does not answer them, has unknown counts. */
export async function measure(engine: Engine, target: Target): Promise<Omit<Measure, 'compute'>> {
  const { health, metrics } = engine.probes
  const [alive, counts] = await Promise.all([
    get(target, health, measureWithinMs),
    metrics === null ? null : get(target, metrics, measureWithinMs),
  ])
  const told = counts?.met === 'answer' && counts.status === 200
  const unknown = { running: null, waiting: null }
  return { answered: alive.met === 'answer', ...(told ? engine.load(counts.body) : unknown) }
}

async function get(target: Target, path: string, withinMs: number): Promise<Probe> {
  const host = target.host.includes(':') ? `[${target.host}]` : target.host
  try {
    const { statusCode, body } = await request(`http://${host}:${target.port}${path}`, {
      dispatcher: agent,
      headers: { authorization: `Bearer ${target.key}` },
      signal: AbortSignal.timeout(withinMs),
      // a connection of its own: one that is kept open would hold up the engine's end
      reset: true,
    })
    return { met: 'answer', status: statusCode, body: await body.text() }
  } catch (error) {
    const name = (error as Error).name
    return { met: name === 'TimeoutError' || name === 'AbortError' ? 'timeout' : 'refused' }
  }
}
