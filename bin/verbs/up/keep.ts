// Keeps the programs of an instance running, and ends them in order.
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { machine } from '../../../actors/machine/actor.ts'
import type { MachineEvent, Message } from '../../../actors/machine/protocol.ts'
import { processKeeper } from '../../../actors/process/actor.ts'
import { processPorts } from '../../../actors/process/io/ports.ts'
import type { ProcessSpec } from '../../../actors/process/protocol.ts'
import type { ChildSpec } from '../../../kernel/actor.ts'
import { systemClock } from '../../../kernel/clock.ts'
import { LlmgwError } from '../../../kernel/errors.ts'
import { startSystem } from '../../../kernel/system.ts'
import type { Layout } from '../../instance.ts'
import type { Say } from './prepare.ts'

/** Restarts of one program; past them the machine waits before it tries anew. */
const programLimits = {
  intensity: 8,
  /** A program that ends at once is given up for a while after some 20 s. */
  periodMs: 60_000,
  delayMs: { min: 100, max: 5_000 },
}
/** Restarts of the keepers themselves: a keeper fails only where it cannot tell what runs. */
const keeperLimits = {
  intensity: 5,
  /** What cannot be told for so long is said and ends the supervisor. */
  periodMs: 60_000,
  delayMs: { min: 200, max: 5_000 },
}
const mailbox = {
  capacity: 1024,
  overflow: 'refuse',
  /** A keeper only lets go of what it watches. */
  stopMs: 5_000,
} as const

export interface Keeper {
  /** Resolves when every program has run once as it should: what ran before in another way has been replaced. */
  running: Promise<void>
  /** Resolves when a program does not stay up; it is tried again all the same. */
  failed: Promise<Error>
  /** Resolves when the supervision itself has failed. */
  broken: Promise<Error>
  /** Ends all programs, the last one first. */
  stop(): Promise<void>
  /** Ends the supervision and leaves the programs running. */
  leave(): Promise<void>
}

/** Starts or takes over the programs, in order. */
export function keepRunning(paths: Layout, specs: readonly ProcessSpec[], say: Say): Keeper {
  const system = startSystem({ clock: systemClock })
  const failed = later<Error>()
  const ended = later<void>()
  const running = later<void>()
  const missing = new Set(specs.map((it) => it.name))
  const onEvent = (event: MachineEvent): void => {
    if (event.type === 'stopped') {
      ended.resolve()
      return
    }
    say(event.program, describe(event, paths))
    if (event.type === 'running' && missing.delete(event.program) && missing.size === 0) {
      running.resolve()
    }
    if (event.type === 'failed') {
      failed.resolve(
        new LlmgwError('LLMGW_PROGRAM_FAILED', {
          program: event.program,
          problem: `${event.reason}${lastWords(logOf(event.program, paths))}`,
          log: logOf(event.program, paths),
        }),
      )
    }
  }
  const child = (spec: ProcessSpec, tell: Parameters<typeof processKeeper>[2]) => ({
    name: spec.name,
    behaviour: processKeeper(
      processPorts({
        dir: paths.runOf(spec.name),
        log: { warn: (_, text) => say(spec.name, text) },
      }),
      programLimits,
      tell,
    ),
    restart: 'permanent' as const,
    ...keeperLimits,
    ...mailbox,
  })
  const ref = system.spawn({
    name: 'machine',
    behaviour: machine({ child, say: onEvent }, specs),
    restart: 'permanent',
    ...keeperLimits,
    ...mailbox,
  } satisfies ChildSpec<unknown, Message, unknown>)
  return {
    running: running.promise,
    failed: failed.promise,
    broken: system.failed,
    async stop() {
      ref.tell({ type: 'stop' })
      await ended.promise
      await system.stop()
    },
    leave: () => system.stop(),
  }
}

function describe(event: Exclude<MachineEvent, { type: 'stopped' }>, paths: Layout): string {
  const log = logOf(event.program, paths)
  switch (event.type) {
    case 'running':
      return `running (pid ${event.pid})`
    case 'restarting':
      return `ended unasked: ${event.reason}${lastWords(log)}; starting it again`
    case 'failed':
      return `does not stay up: ${event.reason}${lastWords(log)}; its log: ${log}`
    case 'ended':
      return 'ended'
  }
}

const logOf = (program: string, paths: Layout): string => join(paths.runOf(program), 'log')

const logLineSchema = z.object({
  msg: z.string(),
  err: z.object({ message: z.string() }).optional(),
})
const lastWordsBytes = 4096

/** The last thing that a program's log says, as an addition to why it ended. */
function lastWords(log: string): string {
  try {
    const line = endOf(log).trimEnd().split('\n').at(-1) ?? ''
    if (!line.startsWith('{')) return line === '' ? '' : `, last words: ${line}`
    const { msg, err } = logLineSchema.parse(JSON.parse(line))
    return `, last words: ${err?.message ?? msg}`
  } catch {
    return '' // a log that cannot be read says nothing; its path is told beside
  }
}

/** The last bytes of a file that may be large. */
function endOf(path: string): string {
  const file = openSync(path, 'r')
  try {
    const { size } = fstatSync(file)
    const bytes = Buffer.alloc(Math.min(size, lastWordsBytes))
    readSync(file, bytes, 0, bytes.length, size - bytes.length)
    return bytes.toString()
  } finally {
    closeSync(file)
  }
}

/** A promise and the way to resolve it from elsewhere. */
function later<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => {}
  const promise = new Promise<T>((done) => {
    resolve = done
  })
  return { promise, resolve }
}
