// All lasting state in one file of JSON lines, and back: for moving it, and for when the store is lost.
import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { LlmgwError, messageOf } from '../kernel/errors.ts'
import {
  type ExportHeader,
  type ExportLine,
  exportHeaderSchema,
  exportLineSchema,
} from './contract/stored.ts'
import type { FencedBucket, Store } from './store.ts'
import { check } from './wire.ts'

const exportVersion = 1
const bucketNames = ['state', 'route'] as const

/** The text of an export: everything but leases and fences, which belong to who leads. */
export const exportState = async (
  store: Store,
  origin: { cluster: string; exportedAt: number },
): Promise<string> => {
  const state = await linesOf(store, 'state')
  const route = await linesOf(store, 'route')
  const body = [...state, ...route].map((line) => `${JSON.stringify(line)}\n`).join('')
  const header: ExportHeader = {
    format: 'llmgw-export',
    version: exportVersion,
    ...origin,
    counts: { state: state.length, route: route.length },
    sha256: digest(body),
  }
  return `${JSON.stringify(header)}\n${body}`
}

/**
 * Makes both buckets hold what the export holds and nothing else, under the fence of a leadership
 * that the caller has. Nothing is written before the whole text was checked; after a failure on the
 * way it may be called again. Throws LLMGW_EXPORT_UNUSABLE; `name` stands for the text in errors.
 */
export const importState = async (
  store: Store,
  token: number,
  text: string,
  name: string,
): Promise<ExportHeader> => {
  const { header, lines } = readExport(text, name)
  for (const bucket of bucketNames) await store[bucket].takeFence(token)
  for (const bucket of bucketNames) {
    const wanted = lines.filter((line) => line.bucket === bucket)
    await replaceAll(store[bucket], new Map(wanted.map(({ key, value }) => [key, value])))
  }
  return header
}

async function linesOf(store: Store, bucket: ExportLine['bucket']): Promise<ExportLine[]> {
  const entries = await store[bucket].entries()
  // two exports of one state are one text
  entries.sort((a, b) => (a.key < b.key ? -1 : 1))
  return entries.map(({ key, value }) => ({ bucket, key, value }))
}

async function replaceAll(bucket: FencedBucket, wanted: Map<string, unknown>): Promise<void> {
  const found = new Map((await bucket.entries()).map(({ key, value }) => [key, value]))
  for (const key of found.keys()) if (!wanted.has(key)) await bucket.delete(key)
  for (const [key, value] of wanted) {
    if (!isDeepStrictEqual(found.get(key), value)) await bucket.put(key, value)
  }
}

function readExport(text: string, name: string): { header: ExportHeader; lines: ExportLine[] } {
  const refuse = (problem: string, cause?: unknown): never => {
    throw new LlmgwError('LLMGW_EXPORT_UNUSABLE', { name, problem }, { cause })
  }
  const parse = (line: string, number: number): unknown => {
    try {
      return JSON.parse(line)
    } catch (thrown) {
      return refuse(`line ${number} is not JSON (${messageOf(thrown)})`, thrown)
    }
  }
  const end = text.indexOf('\n')
  const header = check(parse(text.slice(0, end), 1), name, exportHeaderSchema)
  if (!header.ok) return refuse('its first line is not the header of an export of llmgw')
  const { version, sha256, counts } = header.value
  if (version > exportVersion) {
    refuse(`it has version ${version}, and this llmgw reads ${exportVersion}: upgrade llmgw`)
  }
  const body = text.slice(end + 1)
  if (digest(body) !== sha256) refuse('it was changed or cut off, its digest is another')
  const lines = body
    .split('\n')
    .slice(0, -1)
    .map((line, index) => {
      const checked = check(parse(line, index + 2), name, exportLineSchema)
      return checked.ok ? checked.value : refuse(`line ${index + 2} is not an entry`)
    })
  for (const bucket of bucketNames) {
    const found = lines.filter((line) => line.bucket === bucket).length
    if (found !== counts[bucket])
      refuse(`it has ${found} entries of ${bucket}, not the number told`)
  }
  return { header: header.value, lines }
}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex')
