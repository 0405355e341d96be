// Engines on a node's disk: an environment each, what is known of them, and the forms that are tried.
import { chmod, mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import type { InstallForm } from '../../../../engines/engine.ts'
import { LlmgwError, messageOf } from '../../../../kernel/errors.ts'
import { parseJson } from '../../../../transport/contract/problem.ts'
import { writeDurably } from '../../../../transport/durable-file.ts'
import { fullOr } from '../../files/io/disk.ts'
import type { Ports } from '../actor.ts'
import type { Ready, Verdict } from '../protocol.ts'
import type { InstallRequest } from '../state.ts'
import { fromPath } from './from-path.ts'
import { type Context, fromWheel } from './from-wheel.ts'

export type Options = {
  /** Where engines are kept; engines of other users can read it if they can enter its parents. */
  dir: string
  /** Arguments before a program that run it as a user of engines: what such a user cannot run is no install. */
  asUser?: readonly string[]
  warn(text: string): void
}

const verdictsSchema = z.array(
  z.strictObject({
    engine: z.string(),
    version: z.string(),
    state: z.enum(['unproven', 'proven', 'refused']),
    reason: z.string().nullable(),
  }),
)

export function provisionPorts({ dir, asUser = [], warn }: Options): Ports {
  let stop = new AbortController()
  const running = new Set<Promise<unknown>>()
  const memory = join(dir, 'verdicts.json')
  let written = Promise.resolve()
  return {
    warn,
    async recall() {
      await mkdir(dir, { recursive: true })
      await chmod(dir, 0o755) // whatever the umask
      const text = await readFile(memory, 'utf8').catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return '[]'
        throw error
      })
      return verdictsIn(text, (problem) => warn(`${memory} is damaged and not used: ${problem}`))
    },
    remember(verdicts) {
      const text = JSON.stringify(verdicts)
      const writing = written.then(() => writeDurably(memory, text, 0o644))
      written = writing.catch(() => {}) // told by the promise that is answered
      return writing
    },
    install(request, onProgress) {
      const context = { dir, asUser, onProgress, signal: stop.signal }
      const installing = install(request, context)
      running.add(installing)
      const done = () => running.delete(installing)
      installing.then(done, done)
      return installing
    },
    async release() {
      const ended = stop
      stop = new AbortController() // a restarted actor begins anew with these ports
      ended.abort(new Error('the node agent is stopping'))
      await Promise.allSettled([...running, written])
    },
  }
}

/** A damaged list is no list: builds are then unproven, and a bad one is found out again at its next load. */
function verdictsIn(text: string, warn: (problem: string) => void): Verdict[] {
  try {
    return parseJson(verdictsSchema, text)
  } catch (error) {
    warn(messageOf(error))
    return []
  }
}

/** The first form that is had and not refused; why earlier ones were not stands in its note. */
async function install(request: InstallRequest, context: Context): Promise<Ready> {
  const tried: string[] = []
  for (const form of request.forms) {
    try {
      const { version, argv } = await bring(form, request.engine, context)
      const refused = request.refused.find((it) => it.version === version)
      if (!refused) return { version, argv, note: tried.length > 0 ? tried.join('; ') : null }
      tried.push(`${version} is not used: ${refused.reason}`)
    } catch (thrown) {
      if (context.signal.aborted) throw context.signal.reason
      const error = await fullOr(thrown, context.dir)
      if (error instanceof LlmgwError && error.code === 'LLMGW_DISK_FULL') throw error
      tried.push(messageOf(error))
    }
  }
  throw new LlmgwError('LLMGW_INSTALL_FAILED', {
    engine: request.engine,
    tried: `Tried: ${tried.join('; ')}`,
  })
}

const bring = (form: InstallForm, engine: string, context: Context) =>
  form.form === 'path' ? fromPath(form, context.asUser) : fromWheel(form, engine, context)
