// Asks an engine over HTTP whether it serves its model, what it counts, and for one token.
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
  const { health, metrics, progress } = engine.probes
  const page = async (path: string | null): Promise<string | null> => {
    const it = path === null ? null : await get(target, path, measureWithinMs)
    return it?.met === 'answer' && it.status === 200 ? it.body : null
  }
  const [alive, counts, steps] = await Promise.all([
    get(target, health, measureWithinMs),
    page(metrics),
    page(progress),
  ])
  return {
    answered: alive.met === 'answer',
    ...(counts === null ? { running: null, waiting: null } : engine.load(counts)),
    progress: steps === null ? null : engine.progress(steps),
  }
}

/** Whether the engine made the one token that it was asked for. */
export async function tryToken(engine: Engine, target: Target): Promise<boolean> {
  const { path, body, withinMs, made } = engine.token
  return made(await ask(target, path, withinMs, body(target.model)))
}

const get = (target: Target, path: string, withinMs: number): Promise<Probe> =>
  ask(target, path, withinMs, null)

/** A request with `body` is a POST. */
async function ask(
  target: Target,
  path: string,
  withinMs: number,
  body: object | null,
): Promise<Probe> {
  const host = target.host.includes(':') ? `[${target.host}]` : target.host
  try {
    const answer = await request(`http://${host}:${target.port}${path}`, {
      dispatcher: agent,
      method: body === null ? 'GET' : 'POST',
      body: body === null ? null : JSON.stringify(body),
      headers: { authorization: `Bearer ${target.key}`, 'content-type': 'application/json' },
      signal: AbortSignal.timeout(withinMs),
      // a connection of its own: one that is kept open would hold up the engine's end
      reset: true,
    })
    return { met: 'answer', status: answer.statusCode, body: await answer.body.text() }
  } catch (error) {
    const name = (error as Error).name
    return { met: name === 'TimeoutError' || name === 'AbortError' ? 'timeout' : 'refused' }
  }
}
