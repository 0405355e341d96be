// Fetches an artifact from the first of its sources that has it: whole, checked, moved into place at once.
import { access, chmod, constants, mkdir, open, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { LlmgwError, messageOf } from '../../../../kernel/errors.ts'
import type { Artifact, Source } from '../../../../transport/contract/artifact.ts'
import type { Progress } from '../../../../transport/contract/node.ts'
import { acceptedDigests, sourceName, unavailable } from '../sources.ts'
import { demandRoom, fullOr, sha256Of } from './disk.ts'
import { fromHttps } from './from-https.ts'
import { fromIndex } from './from-index.ts'
import { meter } from './meter.ts'
import { unpack } from './unpack.ts'

export type FetchOptions = {
  /** The folder that the file is put in, made if it is missing. Nobody else fetches into it meanwhile. */
  dir: string
  onProgress?: (progress: Progress) => void
  /** Ends the fetch; what can be resumed later stays in `dir`. */
  signal?: AbortSignal
  /** What else an operator can do where no source has it, in words. */
  wayOut?: string
}

export type Fetched = {
  /** In `dir`; or where it lies, if the source is a path without a member. */
  path: string
  /** Which source was used, in words. */
  source: string
  /** The sources before it, each with why it failed. */
  tried: string[]
}

/**
 * Sources are tried in order. A file that is in `dir` with the right digest is used as it is.
 * Throws LLMGW_ARTIFACT_UNAVAILABLE when no source is left, LLMGW_DISK_FULL at once, or the signal's reason.
 */
export async function fetchArtifact(artifact: Artifact, options: FetchOptions): Promise<Fetched> {
  const { dir, signal } = options
  await mkdir(dir, { recursive: true })
  const target = join(dir, artifact.fileName)
  if (await isThere(artifact, target)) {
    return { path: target, source: `${target}, fetched earlier`, tried: [] }
  }
  const tried: string[] = []
  for (const [index, source] of artifact.sources.entries()) {
    const workDir = join(dir, `.source-${index}`)
    try {
      const path = await obtain(artifact, source, { ...options, workDir })
      return { path, source: sourceName(source), tried }
    } catch (thrown) {
      const error = signal?.aborted ? signal.reason : await fullOr(thrown, dir, artifact.sizeBytes)
      const resumable = source.kind === 'https' && !(error instanceof LlmgwError)
      if (!resumable) await rm(workDir, { recursive: true, force: true })
      if (signal?.aborted || isCode(error, 'LLMGW_DISK_FULL')) throw error
      tried.push(`${sourceName(source)}: ${messageOf(error)}`)
    }
  }
  throw new LlmgwError('LLMGW_ARTIFACT_UNAVAILABLE', unavailable(artifact, tried, options.wayOut))
}

async function isThere(artifact: Artifact, target: string): Promise<boolean> {
  const found = await stat(target).catch(() => null)
  if (!found?.isFile()) return false
  // a file comes to this name only by a rename, so it is whole; where nobody named a digest, that is all there is to know
  return artifact.sha256 === undefined || (await sha256Of(target)) === artifact.sha256
}

type Work = FetchOptions & { workDir: string }

async function obtain(artifact: Artifact, source: Source, work: Work): Promise<string> {
  if (source.kind === 'path' && source.member === undefined) {
    return inPlace(artifact, source.path, work)
  }
  const download = await bring(artifact, source, work)
  const context = { artifact, source, work }
  let fresh = download
  if (source.member === undefined) {
    await demandDigest(download, [acceptedDigests(source), ownDigest(artifact)], context)
  } else {
    await demandDigest(download, [acceptedDigests(source)], context)
    fresh = join(work.workDir, 'member')
    await mkdir(work.workDir, { recursive: true })
    await unpack(download, source.member, fresh, work.signal)
    await demandDigest(fresh, [ownDigest(artifact)], context)
  }
  const target = join(work.dir, artifact.fileName)
  await settle(fresh, artifact.executable ? 0o755 : 0o644)
  await rename(fresh, target)
  await rm(work.workDir, { recursive: true, force: true })
  return target
}

/** The file that a source gives, an archive perhaps. */
async function bring(artifact: Artifact, source: Source, work: Work): Promise<string> {
  if (source.kind === 'path') return source.path
  const isArchive = source.member !== undefined
  const totalBytes = source.sizeBytes ?? (isArchive ? undefined : artifact.sizeBytes)
  const tell = work.onProgress ?? (() => {})
  const onBytes = meter(`fetching ${artifact.name}`, totalBytes ?? null, tell)
  const options = { dir: work.workDir, onBytes, signal: work.signal }
  if (source.kind === 'https') return fromHttps(source.url, options) // which knows what is left of it
  await demandRoom(work.dir, (totalBytes ?? 0) + (isArchive ? (artifact.sizeBytes ?? 0) : 0))
  return fromIndex(source, options)
}

/** A file of the operator's, used where it lies. */
async function inPlace(artifact: Artifact, path: string, work: Work): Promise<string> {
  const found = await stat(path)
  if (!found.isFile()) throw new Error('it is not a regular file')
  await access(path, constants.R_OK | (artifact.executable ? constants.X_OK : 0))
  const source = { kind: 'path', path } as const
  await demandDigest(path, [ownDigest(artifact)], { artifact, source, work })
  return path
}

const ownDigest = ({ sha256 }: Artifact): string[] => (sha256 === undefined ? [] : [sha256])

/** Throws LLMGW_DIGEST_MISMATCH unless the file has one digest of each list; an empty list demands nothing. */
async function demandDigest(
  path: string,
  lists: readonly (readonly string[])[],
  { artifact, source, work }: { artifact: Artifact; source: Source; work: Work },
): Promise<void> {
  const demanded = lists.filter((list) => list.length > 0)
  if (demanded.length === 0) return
  const { size } = await stat(path)
  const onBytes = meter(`checking ${artifact.name}`, size, work.onProgress ?? (() => {}))
  const found = await sha256Of(path, onBytes, work.signal)
  const missed = demanded.find((list) => !list.includes(found))
  if (!missed) return
  throw new LlmgwError('LLMGW_DIGEST_MISMATCH', {
    artifact: artifact.name,
    source: sourceName(source),
    found,
    expected: missed.join(' or '),
  })
}

/** On the disk before the name that promises a whole file: a crash leaves the old state or the new. */
async function settle(path: string, mode: number): Promise<void> {
  await chmod(path, mode)
  const handle = await open(path)
  await handle.sync().finally(() => handle.close())
}

const isCode = (error: unknown, code: LlmgwError['code']): boolean =>
  error instanceof LlmgwError && error.code === code
