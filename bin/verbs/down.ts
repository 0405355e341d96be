// `llmgw down`: ends everything of an instance in order, whether or not its supervisor still lives.
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import { sendSignal } from '../../actors/process/io/identity.ts'
import { processPorts } from '../../actors/process/io/ports.ts'
import { LlmgwError } from '../../kernel/errors.ts'
import { type Layout, layout, readMemory } from '../instance.ts'
import { type Lock, takeLock } from '../lock.ts'
import { count, err, out } from '../output.ts'
import { programNames } from './up/prepare.ts'

/** How long a living supervisor has for ending everything: five programs, each killed after 15 s. */
const downWithinMs = 90_000
/** Between two looks whether the supervisor has ended. */
const pollMs = 50

export function addDown(program: Command, dir: (command: Command) => string): void {
  program
    .command('down')
    .description('end everything in order: endpoint, engines, leader, store')
    .action(async (_options: unknown, command: Command) => {
      const paths = layout(dir(command))
      // an `up` that still fetches has a lock and remembers nothing yet
      if (readMemory(paths) === null && !existsSync(paths.lock)) {
        throw new LlmgwError('LLMGW_NOT_RUNNING', { dir: paths.dir })
      }
      const lock = await stoppedSupervisor(paths)
      try {
        const ended = await endAll(paths)
        out(ended === 0 ? 'everything has ended' : `ended ${count(ended, 'program')} left over`)
      } finally {
        lock.release()
      }
    })
}

/** Asks a living supervisor to end everything, and takes its place once it has. */
async function stoppedSupervisor(paths: Layout): Promise<Lock> {
  const until = performance.now() + downWithinMs
  let asked = false
  for (;;) {
    const lock = await takeLock(paths.lock)
    if (!('heldBy' in lock)) return lock
    if (performance.now() > until) {
      const seconds = downWithinMs / 1000
      throw new LlmgwError('LLMGW_DOES_NOT_END', { dir: paths.dir, pid: lock.heldBy, seconds })
    }
    if (!asked && lock.heldBy !== null) {
      asked = true
      out(`ending what the supervisor (pid ${lock.heldBy}) keeps running`)
      sendSignal(lock.heldBy, 'SIGINT')
    }
    await sleep(pollMs)
  }
}

/** Ends what still runs without a supervisor: routers first, then the agent with its engines, engines without an agent, leader and store. */
export async function endAll(paths: Layout): Promise<number> {
  const units = programNames.map((it) => it.unit).reverse()
  const agent = units.indexOf('node') + 1
  let ended = 0
  for (const dir of [
    ...units.slice(0, agent).map(paths.runOf),
    ...shardDirs(paths),
    ...units.slice(agent).map(paths.runOf),
  ]) {
    if (await endOne(dir)) ended += 1
  }
  return ended
}

const shardDirs = (paths: Layout): string[] => {
  try {
    return readdirSync(paths.shards).map((name) => join(paths.shards, name))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

function endOne(dir: string): Promise<boolean> {
  const ports = processPorts({ dir, log: { warn: (_, text) => err(text) } })
  return new Promise((done, fail) => {
    ports
      .look(() => done(true))
      .then((found) => {
        if (found === undefined) return done(false)
        out(`ending ${found.spec.name} (pid ${found.pid})`)
        ports.end()
      })
      .catch(fail)
  })
}
