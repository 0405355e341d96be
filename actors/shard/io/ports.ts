// What a shard needs of its machine: its run folder, a port, and its engine's answers.
import { join } from 'node:path'
import { present } from '../../../kernel/assert.ts'
import { LlmgwError, messageOf } from '../../../kernel/errors.ts'
import type { Ports } from '../actor.ts'
import type { Setting, Target } from '../phases.ts'
import type { Place } from '../protocol.ts'
import { measure, probe, tryToken } from './ask-engine.ts'
import { computeOf } from './compute.ts'
import { type Log, lastLines, recall, save, wipe } from './folder.ts'
import { makeHome } from './home.ts'
import { freePort, isTaken } from './port.ts'

const examinedLines = 40
/** Of one line; an engine that prints a whole template in one is cut. */
const lineWidth = 400

/** The users that engines run as. */
export type Users = {
  firstUid: number
  /** What keeps a user from reading a file, in words; null if nothing. */
  barrier(user: NonNullable<Place['user']>, path: string): Promise<string | null>
}

export type Options = Setting & {
  /** Holds a run folder for each shard, closed to engines. */
  dir: string
  /** Holds a private folder for each engine. */
  homesDir: string
  /** Null: engines run as this program's user. */
  users: Users | null
  /** For the engines' environment. */
  path: string
  log: Log
}

/** All of a shard's ports but its neighbours, which are handed over where the actors are made. */
export function shardPorts(options: Options): Omit<Ports, 'files' | 'provision' | 'process'> {
  const { dir, homesDir, users, path, log, host, engineOf } = options
  const folderOf = (replica: string): string => join(dir, replica)
  const engineAt = (target: Target) =>
    present(engineOf(target.engine), `the engine ${target.engine}`)
  return {
    host,
    engineOf,
    recall: (replica) => recall(folderOf(replica), log),
    save: (saved) => save(folderOf(saved.spec.replica), saved),
    async reserve(replica, modelPath) {
      const home = makeHome(homesDir, replica, users?.firstUid ?? null)
      const problem = home.user && (await users?.barrier(home.user, modelPath))
      if (problem) throw new LlmgwError('LLMGW_MODEL_UNREADABLE', { path: modelPath, problem })
      return { ...home, port: await freePort(host, Math.random), path }
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
    async wipe(replica) {
      // the run folder last: as long as it is there, the shard is found again
      await wipe(join(homesDir, replica), log)
      await wipe(folderOf(replica), log)
    },
  }
}
