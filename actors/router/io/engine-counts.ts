// Asks an engine how many requests it works on and keeps waiting.
import { request } from 'undici'
import { engineByName } from '../../../engines/index.ts'
import type { Route } from '../../../transport/contract/route.ts'

/** An engine in prefill answers within 50 ms. */
const withinMs = 2000

/** Read after the call; null where the engine does not tell. Never throws. */
export async function engineBusy(
  { engine, host, port }: Route,
  key: string,
): Promise<number | null> {
  const description = engineByName(engine)
  const path = description?.probes.metrics
  if (!description || !path) return null
  const address = host.includes(':') ? `[${host}]` : host
  try {
    const { statusCode, body } = await request(`http://${address}:${port}${path}`, {
      headers: { authorization: `Bearer ${key}` },
      signal: AbortSignal.timeout(withinMs),
    })
    const page = await body.text()
    const { running, waiting } = description.load(page)
    return statusCode !== 200 || running === null || waiting === null ? null : running + waiting
  } catch {
    return null // it does not tell; the deadlines of the ghosts do not depend on it
  }
}
