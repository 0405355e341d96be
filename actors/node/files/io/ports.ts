// A node's model files on its disk: a folder each, with a record beside the file once it is whole and checked.
import { chmod, mkdir, readdir, readFile, rm, rmdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import type { Artifact } from '../../../../transport/contract/artifact.ts'
import { headerSchema } from '../../../../transport/contract/model.ts'
import type { NodeFile, Progress } from '../../../../transport/contract/node.ts'
import { parseJson } from '../../../../transport/contract/problem.ts'
import { writeDurably } from '../../../../transport/durable-file.ts'
import type { Ports } from '../actor.ts'
import { type FetchedFile, fileKey } from '../protocol.ts'
import { fullOr, sha256Of } from './disk.ts'
import { fetchArtifact } from './fetch-artifact.ts'
import { readHeader } from './read-header.ts'

/** What was found out of a file once, so that it is neither hashed nor parsed at each start. */
const recordSchema = z.strictObject({
  path: z.string(),
  sizeBytes: z.number(),
  modifiedMs: z.number(),
  sha256: z.string().nullable(),
  header: headerSchema.nullable(),
})
type FileRecord = z.infer<typeof recordSchema>

const recordName = 'record.json'

/** Keeps files under `dir`, which engines of other users can read if they can enter its parents. */
export function filesPorts(dir: string): Ports {
  let stop = new AbortController()
  const running = new Set<Promise<unknown>>()
  return {
    scan: () => scan(dir),
    fetch(artifact, onProgress) {
      const fetching = fetchRecorded(artifact, { dir, onProgress, signal: stop.signal })
      running.add(fetching)
      const done = () => running.delete(fetching)
      fetching.then(done, done)
      return fetching
    },
    async release() {
      const ended = stop
      stop = new AbortController() // a restarted actor begins anew with these ports
      ended.abort(new Error('the node agent is stopping'))
      await Promise.allSettled(running)
    },
  }
}

async function scan(dir: string): Promise<NodeFile[]> {
  await readableFolder(dir)
  const files: NodeFile[] = []
  for (const key of await readdir(dir)) {
    const record = await validRecord(join(dir, key))
    if (record) {
      const { sizeBytes, sha256, header } = record
      files.push({ key, sizeBytes, sha256, header, failure: null })
    } else {
      await tidy(join(dir, key))
    }
  }
  return files
}

type Options = { dir: string; onProgress: (progress: Progress) => void; signal: AbortSignal }

async function fetchRecorded(artifact: Artifact, options: Options): Promise<FetchedFile> {
  const key = fileKey(artifact)
  const folder = join(options.dir, key)
  try {
    await readableFolder(folder)
    const known = await validRecord(folder)
    const record =
      known && (artifact.sha256 === undefined || known.sha256 === artifact.sha256)
        ? known
        : await fetchAnew(artifact, { ...options, dir: folder })
    const { path, sizeBytes, sha256, header } = record
    return { key, path, sizeBytes, sha256, header }
  } catch (error) {
    throw await fullOr(error, options.dir)
  }
}

async function fetchAnew(artifact: Artifact, options: Options): Promise<FileRecord> {
  const { dir, onProgress, signal } = options
  await rm(join(dir, recordName), { force: true })
  const { path, source, tried } = await fetchArtifact(artifact, {
    ...options,
    wayOut: 'add a .gguf file that is on this machine by its path (llmgw ctl models add PATH)',
  })
  const before = tried.length > 0 ? ` (before it: ${tried.join('; ')})` : ''
  const what = `${artifact.name} is from ${source}${before}`.slice(0, 300)
  onProgress({ what, doneBytes: null, totalBytes: null, bytesPerSecond: null })
  const ours = dirname(path) === dir
  const header = await readHeader(path).catch(async (error: unknown) => {
    if (ours) await rm(path, { force: true })
    throw error
  })
  const { size, mtimeMs } = await stat(path)
  // a file of the operator's without a digest is not read whole: nothing would come of it
  const sha256 = artifact.sha256 ?? (ours ? await sha256Of(path, undefined, signal) : null)
  const record = { path, sizeBytes: size, modifiedMs: mtimeMs, sha256, header }
  await writeDurably(join(dir, recordName), JSON.stringify(record), 0o644)
  return record
}

/** The record in a folder, if the file that it speaks of is still the same. */
async function validRecord(folder: string): Promise<FileRecord | null> {
  try {
    const record = parseJson(recordSchema, await readFile(join(folder, recordName), 'utf8'))
    const { size, mtimeMs } = await stat(record.path)
    return size === record.sizeBytes && mtimeMs === record.modifiedMs ? record : null
  } catch {
    return null // no record, a damaged one, or its file is gone: as if it had never been fetched
  }
}

/** Removes what a crash left in a folder, except what a later fetch resumes or checks. */
async function tidy(folder: string): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    if (!name.startsWith('.source-')) continue
    const resumable = await stat(join(folder, name, 'part')).catch(() => null)
    if (!resumable) await rm(join(folder, name), { recursive: true, force: true })
  }
  await rmdir(folder).catch(() => {}) // only if nothing is left in it
}

async function readableFolder(dir: string): Promise<void> {
  await mkdir(dir, { recursive: true })
  await chmod(dir, 0o755) // whatever the umask: engines may run as another user
}
