// A router in this process with a table made by hand, for tests of the request path; no NATS.
import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { type Routing, startRouting } from '../../bin/routing.ts'
import { systemClock } from '../../kernel/clock.ts'
import { createLogger } from '../../kernel/log.ts'
import { createMetrics } from '../../kernel/metrics.ts'
import { startSystem } from '../../kernel/system.ts'
import { toToken } from '../../transport/contract/names.ts'
import type { Route } from '../../transport/contract/route.ts'

export const secret = 'sk-test'

export type RouterOptions = {
  /** Ports of engines by replica; all serve the model "fake" through llama.cpp's description. */
  engines?: Readonly<Record<string, number>>
  limits?: Partial<{ bodyBytes: number; bufferedBytes: number }>
  timeouts?: Partial<{ connectMs: number; firstByteMs: number; idleMs: number }>
  models?: readonly string[]
}

export interface TestRouter extends Routing {
  readonly url: string
  readonly reports: Record<string, number>[]
  route(change: Partial<Route> & { replica: string }): void
  unroute(replica: string): void
  /** Resolves when no request, hold, ghost or buffered byte is left; throws with what is left after `withinMs`. */
  quiet(withinMs?: number): Promise<void>
  close(): Promise<void>
}

const sha256 = createHash('sha256').update(secret).digest('hex')

export async function startTestRouter(options: RouterOptions = {}): Promise<TestRouter> {
  const system = startSystem({ clock: systemClock })
  const reports: Record<string, number>[] = []
  const routing = startRouting({
    system,
    metrics: createMetrics({ program: 'llmgw-router', name: 'test' }),
    log: createLogger({ name: 'test', level: 'error' }),
    limits: { bodyBytes: 32 << 20, bufferedBytes: 256 << 20, ...options.limits },
    timeouts: { connectMs: 2000, firstByteMs: 30_000, idleMs: 30_000, ...options.timeouts },
    keyOf: (replica) => `key-of-${replica}`,
    report: (holds) => void reports.push({ ...holds }),
  })
  let revision = 0
  const entry = (key: string, value: unknown) => [key, { value }] as const
  const put = (key: string, value: unknown): void => {
    revision += 1
    routing.mirrored({ type: 'put', entry: { key, value, revision } })
  }
  const route = (change: Partial<Route> & { replica: string }): void =>
    put(`route.${change.replica}`, {
      model: 'fake',
      node: 'n1',
      engine: 'llamacpp',
      host: '127.0.0.1',
      port: 1,
      slots: 4,
      state: 'ready',
      ...change,
    })
  const models = options.models ?? ['fake']
  routing.mirrored({
    type: 'listed',
    entries: new Map([
      ...models.map((model) => entry(`model.${toToken(model)}`, { model, created: 1_790_000_000 })),
      entry(`key.${sha256}`, { id: 'k1', name: 'test', scope: 'root' }),
    ]),
    revision,
  })
  for (const [replica, port] of Object.entries(options.engines ?? {})) route({ replica, port })
  await routing.listed
  const port = await routing.listen({ host: '127.0.0.1', port: 0 })
  const left = () => {
    const { held, running, bufferedBytes, seats } = routing.now
    const ghosts = [...seats.all()].map((it) => [it.replica, it.sittings.size, it.ghosts.length])
    const busy = ghosts.some(([, sittings, count]) => sittings !== 0 || count !== 0)
    return held + running + bufferedBytes > 0 || busy
      ? { held, running, bufferedBytes, ghosts }
      : null
  }
  return {
    ...routing,
    now: routing.now,
    url: `http://127.0.0.1:${port}`,
    reports,
    route,
    unroute(replica) {
      revision += 1
      routing.mirrored({ type: 'deleted', key: `route.${replica}`, revision })
    },
    async quiet(withinMs = 5000) {
      const until = performance.now() + withinMs
      while (left()) {
        if (performance.now() > until) throw new Error(`left: ${JSON.stringify(left())}`)
        await delay(10)
      }
    },
    async close() {
      await routing.stop(0)
      await system.stop()
    },
  }
}
