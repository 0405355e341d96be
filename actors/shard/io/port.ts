// Free ports for engines, outside the range from which the kernel takes its own.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { LlmgwError } from '../../../kernel/errors.ts'

const lowest = 20_000
const highest = 65_535
/** Below this many ports the other side of the kernel's range is taken. */
const enough = 1000

/** The ports that engines may have: below the kernel's range, or above it. */
export function enginePorts(kernelRange: string): { from: number; to: number } {
  const [low = 32_768, high = 60_999] = kernelRange.trim().split(/\s+/).map(Number)
  const below = { from: lowest, to: low - 1 }
  const above = { from: Math.max(lowest, high + 1), to: highest }
  if (below.to - below.from >= enough) return below
  return above.to - above.from >= enough ? above : { from: lowest, to: highest }
}

/** A port that nobody listens on at `host`, by chance, so that two who choose at once seldom meet. */
export async function freePort(host: string, random: () => number): Promise<number> {
  const { from, to } = enginePorts(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8'))
  const count = to - from + 1
  const first = Math.floor(random() * count)
  for (let step = 0; step < count; step += 1) {
    const port = from + ((first + step) % count)
    if (!(await isTaken(host, port))) return port
  }
  throw new LlmgwError('LLMGW_PORT_IN_USE', { host, port: `${from} to ${to}` })
}

/** Somebody listens there. Throws where the address is none of this machine's. */
export const isTaken = (host: string, port: number): Promise<boolean> =>
  new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve(true) : reject(error),
    )
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(false)))
  })
