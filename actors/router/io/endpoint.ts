// The endpoint's beginning and end: listening, and letting requests finish before the process does.
import { setTimeout as delay } from 'node:timers/promises'
import { startHttpServer } from '../../../transport/http.ts'
import type { Path } from '../request/path.ts'

export interface Endpoint {
  readonly port: number
  /** Takes no new connections, lets chats run for at most `drainMs` more, then ends them with an error. */
  stop(drainMs: number): Promise<void>
}

/** Between looks at streams that are waited for; one timer for all. */
const tendMs = 1000
/** Between looks at the chats that still run at the end. */
const pollMs = 20
/** For the last answers to leave before their connections are closed. */
const lingerMs = 50

/** Throws what `startHttpServer` does. */
export async function startEndpoint(
  address: { host: string; port: number },
  path: Path,
): Promise<Endpoint> {
  const server = await startHttpServer(address, (exchange) => path.handle(exchange))
  const tending = setInterval(() => path.tend(tendMs), tendMs)
  return {
    port: server.port,
    async stop(drainMs) {
      server.stopListening()
      const until = performance.now() + drainMs
      do {
        while (path.running > 0 && performance.now() < until) await delay(pollMs)
        await delay(lingerMs) // kept connections may bring more
      } while (path.running > 0 && performance.now() < until)
      path.breakOff()
      clearInterval(tending)
      await delay(lingerMs)
      server.close()
    },
  }
}
