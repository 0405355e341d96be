// The run record of a kept process and the notes of its shim, on disk.
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { LlmgwError, messageOf } from '../../../kernel/errors.ts'
import { parseJson } from '../../../transport/contract/problem.ts'
import { writeWhole } from '../../../transport/durable-file.ts'
import type { ProcessSpec } from '../protocol.ts'
import { type RunRecord, recordSchema } from '../record.ts'

export const pathsOf = (dir: string) => ({
  record: join(dir, 'record.json'),
  log: join(dir, 'log'),
  fifo: join(dir, 'alive'),
  slot: join(dir, 'slot'),
  pid: join(dir, 'pid'),
  rc: join(dir, 'rc'),
})

/** Writes the intent to start, as the file that the shim makes the record once it holds the slot. */
export function writeIntent(dir: string, spec: ProcessSpec, bootId: string): RunRecord {
  const token = randomBytes(16).toString('hex')
  const record: RunRecord = {
    version: 1,
    spec: { ...spec, argv: [...spec.argv], env: { ...spec.env }, stop: [...spec.stop] },
    token,
    bootId,
    startedAt: Date.now(),
    process: null,
  }
  const path = join(dir, `record.${token}`)
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    writeFileSync(path, JSON.stringify(record), { mode: 0o600, flag: 'wx' })
  } catch (cause) {
    if (existsSync(path)) rmSync(path)
    const problem = `${dir} cannot be written (${messageOf(cause)})`
    throw new LlmgwError('LLMGW_LAUNCH_FAILED', { program: spec.name, problem }, { cause })
  }
  return record
}

/** Withdraws an intent of which nothing came. */
export const dropIntent = (dir: string, record: RunRecord): void =>
  rmSync(join(dir, `record.${record.token}`), { force: true })

/** Adds what identifies the process; readers meet the old record or the new one. */
export const completeRecord = (dir: string, record: RunRecord): void =>
  writeWhole(pathsOf(dir).record, JSON.stringify(record))

/** Null where there is none. Throws LLMGW_RECORD_UNREADABLE where it cannot be understood. */
export function readRecord(dir: string): RunRecord | null {
  const path = pathsOf(dir).record
  try {
    return parseJson(recordSchema, readFileSync(path, 'utf8'))
  } catch (cause) {
    if (isMissing(cause)) return null
    throw new LlmgwError('LLMGW_RECORD_UNREADABLE', { path, problem: messageOf(cause) }, { cause })
  }
}

/** The number that the shim noted for this launch in `pid` or `rc`; null where there is none. */
export function readNote(path: string, token: string): number | null {
  try {
    const [of, number] = readFileSync(path, 'utf8').trim().split(' ')
    return of === token && number !== undefined && /^\d+$/.test(number) ? Number(number) : null
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

export const isMissing = (error: unknown): boolean =>
  (error as NodeJS.ErrnoException).code === 'ENOENT'
