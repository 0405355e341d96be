// What a shard needs of its machine: its run folder, a port, and its engine's answers.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { present } from '../../../kernel/assert.ts'
import { messageOf } from '../../../kernel/errors.ts'
import type { Ports } from '../actor.ts'
import type { Setting, Target } from '../phases.ts'
import { measure, probe, tryToken } from './ask-engine.ts'
import { computeOf } from './compute.ts'
import { type Log, lastLines, recall, save, wipe } from './folder.ts'
import { freePort, isTaken } from './port.ts'

const examinedLines = 40
/** Of one line; an engine that prints a whole template in one is cut. */
const lineWidth = 400

export type Options = Setting & {
  /** Holds a run folder for each shard. */
  dir: string
  /** For the engines' environment. */
  path: string
  log: Log
}

/** All of a shard's ports but its neighbours, which are handed over where the actors are made. */
export function shardPorts(options: Options): Omit<Ports, 'files' | 'provision' | 'process'> {
  const { dir, path, log, host, engineOf } = options
  const folderOf = (replica: string): string => join(dir, replica)
  const engineAt = (target: Target) =>
    present(engineOf(target.engine), `the engine ${target.engine}`)
  return {
    host,
    engineOf,
    recall: (replica) => recall(folderOf(replica), log),
    save: (saved) => save(folderOf(saved.spec.replica), saved),
    async reserve(replica) {
      const homeDir = join(folderOf(replica), 'home')
      mkdirSync(homeDir, { recursive: true, mode: 0o700 })
      return { port: await freePort(host, Math.random), homeDir, path }
    },
    probe: (target) => probe(engineAt(target), target),
    async measure(target, pid) {
      return { ...(await measure(engineAt(target), target)), compute: computeOf(pid) }
    },
    tryToken: (target) => tryToken(engineAt(target), target),
    async examine(replica, { port, key }) {
      try {
        const portTaken = port !== null && (await isTaken(host, port))
        const log = join(folderOf(replica), 'log')
        return {
          lines: lastLines(log, examinedLines, { secrets: [key], width: lineWidth }),
          portTaken,
        }
      } catch (error) {
        return { lines: [`(its log cannot be read: ${messageOf(error)})`], portTaken: false }
      }
    },
    wipe: (replica) => wipe(folderOf(replica), log),
  }
}
