// Looks for, launches and ends the process of one slot: a folder with its record, log, fifo and notes.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { accessSync, closeSync, constants, openSync, statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { LlmgwError, messageOf } from '../../../kernel/errors.ts'
import type { Ports } from '../actor.ts'
import type { Exit, ProcessSpec } from '../protocol.ts'
import { markerName, markerValueOf, type RunRecord } from '../record.ts'
import { hasMarker, isAlive, readBootId, sendSignal, statOf, treeOf } from './identity.ts'
import { type Life, type LiveRecord, type Log, watchLife } from './life.ts'
import {
  completeRecord,
  dropIntent,
  isMissing,
  pathsOf,
  readNote,
  readRecord,
  writeIntent,
} from './record.ts'
import { asUser, barrier } from './user.ts'

const shim = fileURLToPath(new URL('./shim.sh', import.meta.url))

/** From the shim's start to its note of the pid; on a machine that swaps this takes seconds. */
const launchWithinMs = 15_000
/** Between looks for that note, which comes within a few milliseconds. */
const notePollMs = 10
/** For a launch that a killed keeper left half done. */
const halfDoneWithinMs = 2000
/** Between looks for its note, each of which may start a program. */
const halfDonePollMs = 100
/** Exit codes of the shim. */
const slotTaken = 75
const notFound = 127

export type Options = {
  /** Absolute; made with mode 0700. */
  dir: string
  /** Where is also said what was found and left alone, and why. */
  log: Log
}

/** Ports to the one slot in `dir`. Two keepers of one slot never have two processes in it. */
export function processPorts({ dir, log }: Options): Ports {
  let life: Life | undefined
  /** What was asked of a look or launch that is under way. */
  let pending = { end: false, release: false }

  const begin = (): typeof pending => {
    pending.release = true
    life?.release()
    life = undefined
    pending = { end: false, release: false }
    return pending
  }
  const watch = (wishes: typeof pending, record: LiveRecord, onEnd: (exit: Exit) => void): void => {
    if (wishes.release) return
    life = watchLife(dir, record, onEnd, log)
    if (wishes.end) life.end()
  }

  return {
    async look(onEnd) {
      const wishes = begin()
      const found = await findRun(dir)
      if (found === undefined) return undefined
      if ('foreign' in found) {
        log.warn({ dir, pid: found.pid }, found.foreign)
        return undefined
      }
      watch(wishes, found.record, onEnd)
      return { spec: found.record.spec, pid: found.record.process.pid }
    },

    async launch(spec, onEnd) {
      const wishes = begin()
      const record = await startShim(dir, spec)
      watch(wishes, record, onEnd)
      return record.process.pid
    },

    end(by) {
      pending.end = true
      life?.end(by)
    },

    release: () => void begin(),
  }
}

/** What a run folder tells; the record's environment may hold secrets. Null where nothing was ever started. */
export type Run = { spec: ProcessSpec; pid: number | null; alive: boolean; startedAt: number }

/** Reads a run folder without changing anything. Throws LLMGW_RECORD_UNREADABLE. */
export function readRun(dir: string): Run | null {
  const record = readRecord(dir)
  if (record === null) return null
  const pid = record.process?.pid ?? readNote(pathsOf(dir).pid, record.token)
  const { spec, startedAt } = record
  return { spec, pid, alive: pid !== null && judge(record, pid) === 'ours', startedAt }
}

type Found = { record: LiveRecord } | { foreign: string; pid: number }

/** Undefined where nothing of ours lives. What the dead process left behind, which carries its marker, is killed first. */
async function findRun(dir: string): Promise<Found | undefined> {
  const record = readRecord(dir)
  if (record === null || record.bootId !== readBootId()) return undefined
  const pid = record.process?.pid ?? (await awaitNote(dir, record))
  if (pid === null) return undefined
  let verdict = judge(record, pid)
  // The environment of a process that is just being replaced by its program reads empty for a moment.
  for (let tries = 0; verdict === 'foreign' && tries < 3; tries += 1) {
    await sleep(notePollMs)
    verdict = judge(record, pid)
  }
  if (verdict === 'ours') return { record: seen(dir, record, pid) }
  await killTree(record)
  if (verdict === 'gone') return undefined
  const foreign = `process ${pid} has the pid that stands in ${pathsOf(dir).record}, but is not what was started: it is left alone`
  return { foreign, pid }
}

/** By pid, start time and boot id, and by the marker, whose token belongs to one launch and so to its command. */
function judge(record: RunRecord, pid: number): 'ours' | 'foreign' | 'gone' {
  if (record.bootId !== readBootId() || statOf(pid) === null) return 'gone'
  const same = record.process === null || isAlive(record.process)
  return same && hasMarker(pid, record) ? 'ours' : 'foreign'
}

/** The record with what identifies its process, on disk as well. */
function seen(dir: string, record: RunRecord, pid: number): LiveRecord {
  if (record.process !== null) return { ...record, process: record.process }
  // A process that ended since has no start time; 0 is that of none, so it counts as gone.
  const live = { ...record, process: { pid, startTicks: statOf(pid)?.startTicks ?? 0 } }
  completeRecord(dir, live)
  return live
}

/** The pid of a launch whose keeper was killed before it saw one. Throws where the slot is held and still nobody noted a pid. */
async function awaitNote(dir: string, record: RunRecord): Promise<number | null> {
  const path = pathsOf(dir).pid
  for (let waitedMs = 0; waitedMs < halfDoneWithinMs; waitedMs += halfDonePollMs) {
    const pid = readNote(path, record.token)
    if (pid !== null) return pid
    if (!(await isSlotHeld(dir))) return readNote(path, record.token)
    await sleep(halfDonePollMs)
  }
  throw new LlmgwError('LLMGW_SLOT_TAKEN', { dir })
}

async function isSlotHeld(dir: string): Promise<boolean> {
  try {
    await promisify(execFile)('flock', ['-n', '-E', String(slotTaken), pathsOf(dir).slot, 'true'])
    return false
  } catch (cause) {
    if ((cause as { code?: unknown }).code === slotTaken) return true
    throw isMissing(cause) ? flockMissing() : cause
  }
}

async function killTree(record: RunRecord): Promise<void> {
  for (let pids = treeOf(record); pids.length > 0; pids = treeOf(record)) {
    for (const pid of pids) sendSignal(pid, 'SIGKILL')
    await sleep(notePollMs)
  }
}

async function startShim(dir: string, spec: ProcessSpec): Promise<LiveRecord> {
  await checkStartable(spec)
  const intent = writeIntent(dir, spec, readBootId())
  try {
    const pid = await awaitPid(dir, intent, spawnShim(dir, intent))
    return seen(dir, intent, pid)
  } catch (error) {
    dropIntent(dir, intent)
    throw error
  }
}

function spawnShim(dir: string, record: RunRecord): ChildProcess {
  const { spec, token } = record
  const log = openSync(pathsOf(dir).log, 'a', 0o600)
  try {
    const prefix = spec.user === undefined ? [] : asUser(spec.user)
    return spawn('/bin/sh', [shim, dir, token, ...prefix, ...spec.argv], {
      cwd: spec.cwd,
      env: { ...spec.env, [markerName]: markerValueOf(record) },
      // A session of its own: it outlives this program and its terminal.
      detached: true,
      stdio: ['ignore', log, log],
    })
  } finally {
    closeSync(log)
  }
}

/** The pid that the shim notes. Throws where the shim ends without one, or takes too long and is killed. */
async function awaitPid(dir: string, record: RunRecord, child: ChildProcess): Promise<number> {
  const { program, path } = { program: record.spec.argv[0] ?? '', path: pathsOf(dir).pid }
  let ended: { code: number | null; error?: Error } | undefined
  child.once('error', (error) => {
    ended = { code: null, error }
  })
  child.once('exit', (code) => {
    ended = { code }
  })
  child.unref()
  for (let waitedMs = 0; waitedMs < launchWithinMs; waitedMs += notePollMs) {
    const over = ended
    const pid = readNote(path, record.token)
    if (pid !== null) return pid
    if (over?.error !== undefined) throw launchFailed(program, messageOf(over.error))
    if (over?.code === slotTaken) throw new LlmgwError('LLMGW_SLOT_TAKEN', { dir })
    if (over?.code === notFound) throw flockMissing()
    if (over !== undefined) {
      throw launchFailed(program, `its shim ended; ${pathsOf(dir).log} may say why`)
    }
    await sleep(notePollMs)
  }
  await killTree(record)
  throw launchFailed(program, `its shim did nothing for ${launchWithinMs / 1000} s`)
}

/** What the shim could say in the log only. */
async function checkStartable({ argv, cwd, user }: ProcessSpec): Promise<void> {
  const program = argv[0] ?? ''
  try {
    accessSync(program, constants.X_OK)
    if (!statSync(cwd).isDirectory()) throw new Error(`${cwd} is no folder`)
    if (user === undefined) return
    for (const path of [program, cwd]) {
      const problem = await barrier(user, path, 'x')
      if (problem !== null) throw new Error(problem)
    }
  } catch (cause) {
    if (cause instanceof LlmgwError) throw cause
    throw launchFailed(program, messageOf(cause), cause)
  }
}

const launchFailed = (program: string, problem: string, cause?: unknown): LlmgwError =>
  new LlmgwError('LLMGW_LAUNCH_FAILED', { program, problem }, { cause })

const flockMissing = (): LlmgwError =>
  new LlmgwError('LLMGW_TOOL_MISSING', { tool: 'flock', remedy: 'install the package util-linux' })
