// What tests of kept processes share: folders, specs, and waiting for a condition with a deadline.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ProcessSpec } from '../../actors/process/protocol.ts'

/** A folder of its own, and what removes it. */
export function temporaryFolder(): { dir: string; remove: () => void } {
  const dir = mkdtempSync(join(tmpdir(), 'llmgw-test-'))
  return { dir, remove: () => rmSync(dir, { recursive: true, force: true }) }
}

/** A spec of a shell script, which a group signal ends. */
export const scriptSpec = (script: string, stop: ProcessSpec['stop'] = gently): ProcessSpec => ({
  name: 'test',
  argv: ['/bin/sh', '-c', script],
  env: { PATH: '/usr/bin:/bin' },
  cwd: '/',
  stop,
})
const gently: ProcessSpec['stop'] = [{ signal: 'SIGTERM', afterMs: 0, to: 'group' }]

type Wanted<T> = T | undefined | null | false

/** Resolves with the first value that is not undefined, null or false. Throws with `what` at the deadline. */
export async function eventually<T>(
  what: string,
  look: () => Wanted<T> | Promise<Wanted<T>>,
  withinMs = 30_000,
): Promise<T> {
  const until = performance.now() + withinMs
  for (;;) {
    const value = await look()
    if (value !== undefined && value !== null && value !== false) return value
    if (performance.now() > until) throw new Error(`not within ${withinMs} ms: ${what}`)
    await sleep(10)
  }
}
