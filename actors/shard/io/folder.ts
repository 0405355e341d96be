// A shard's run folder: what is saved in it, the end of its log, and its removal.
import {
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
} from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../../../kernel/errors.ts'
import { redactText } from '../../../kernel/redact.ts'
import { parseJson } from '../../../transport/contract/problem.ts'
import { writeWhole } from '../../../transport/durable-file.ts'
import { type Saved, type ShardSpec, savedSchema } from '../protocol.ts'

/** What is read of a log's end at most. */
const tailBytes = 256 * 1024
/** Of a line that is shown; longer ones are cut. */
const maxLineLength = 16_000

/** Where is said what could not be used, and why. */
export type Log = { warn(fields: object, text: string): void }

const savedPath = (dir: string): string => join(dir, 'shard.json')

/** Null where nothing is saved, and, with a warning, where it cannot be understood. */
export function recall(dir: string, log: Log): Saved | null {
  const path = savedPath(dir)
  try {
    return parseJson(savedSchema, readFileSync(path, 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    log.warn({ path, problem: messageOf(error) }, 'a shard cannot be recalled: it starts anew')
    return null
  }
}

/** Replaces what was saved, whole or not at all; 0600, since it holds the engine's key. */
export function save(dir: string, saved: Saved): void {
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  writeWhole(savedPath(dir), JSON.stringify(saved))
}

/** Never fails: what is left is said, and is a shard that needs no engine when it is found again. */
export async function wipe(dir: string, log: Log): Promise<void> {
  try {
    await rm(dir, { recursive: true, force: true, maxRetries: 3 })
  } catch (error) {
    log.warn({ dir, problem: messageOf(error) }, 'a folder of a shard could not be removed')
  }
}

/** The shards of all run folders beneath `dir`. */
export function recallAll(dir: string, log: Log): ShardSpec[] {
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  return readdirSync(dir, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap((entry) => recall(join(dir, entry.name), log)?.spec ?? [])
}

/** The last lines of a shard's log without its key; null where there is no such shard. */
export function readLog(dir: string, count: number, log: Log): string[] | null {
  if (!existsSync(dir)) return null
  const key = recall(dir, log)?.spec.key
  const secrets = key === undefined ? [] : [key]
  return lastLines(join(dir, 'log'), count, { secrets, width: maxLineLength })
}

/** The last lines of a log, without the secrets; none where there is no log. */
export function lastLines(
  path: string,
  count: number,
  { secrets, width }: { secrets: readonly string[]; width: number },
): string[] {
  const text = redactText(tail(path), secrets)
  return text
    .split('\n')
    .filter((line, at, all) => line !== '' || at < all.length - 1)
    .slice(-count)
    .map((line) => line.slice(0, width))
}

/** Whole lines, since the beginning of a secret would stand before the cut. */
function tail(path: string): string {
  let file: number
  try {
    file = openSync(path, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw error
  }
  try {
    const { size } = fstatSync(file)
    const bytes = Buffer.alloc(Math.min(size, tailBytes))
    const read = readSync(file, bytes, 0, bytes.length, size - bytes.length)
    const text = bytes.toString('utf8', 0, read)
    return size > tailBytes ? text.slice(text.indexOf('\n') + 1) : text
  } finally {
    closeSync(file)
  }
}
