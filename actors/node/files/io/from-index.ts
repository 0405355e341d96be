// Fetches one distribution file of a Python index by pip, which alone knows index, proxies and certificates.
import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ExecaError, execa } from 'execa'
import { LlmgwError } from '../../../../kernel/errors.ts'
import type { Source } from '../../../../transport/contract/artifact.ts'
import { requirementLine, sourceName } from '../sources.ts'

type Options = {
  /** A folder of its own; what is in it is thrown away. */
  dir: string
  onBytes: (doneBytes: number) => void
  signal?: AbortSignal | undefined
}

/** For pip, after it was told to end. */
const killAfterMs = 2000
/** Between looks at what pip has written. */
const pollMs = 500

/** The path of the file, its digest checked by pip. Throws with the reason in words. */
export async function fromIndex(
  source: Extract<Source, { kind: 'index' }>,
  { dir, onBytes, signal }: Options,
): Promise<string> {
  const got = join(dir, 'got')
  const requirements = join(dir, 'requirements.txt')
  await rm(dir, { recursive: true, force: true })
  await mkdir(got, { recursive: true })
  await writeFile(requirements, `${requirementLine(source)}\n`)
  // pip writes below TMPDIR until a file is whole: what stands there is its progress
  const ownBytes = await bytesUnder(dir)
  const tell = async () => onBytes(Math.max(0, (await bytesUnder(dir)) - ownBytes))
  const poll = setInterval(() => void tell(), pollMs)
  try {
    await execa('python3', pipArguments(got, requirements), {
      env: { TMPDIR: dir, PIP_DISABLE_PIP_VERSION_CHECK: '1', PIP_NO_INPUT: '1', LC_ALL: 'C' },
      stdin: 'ignore',
      maxBuffer: 1024 * 1024,
      forceKillAfterDelay: killAfterMs,
      ...(signal && { cancelSignal: signal }),
    })
  } catch (error) {
    throw told(error, source)
  } finally {
    clearInterval(poll)
  }
  const [name, ...more] = await readdir(got)
  if (name === undefined || more.length > 0) throw new Error('pip fetched not exactly one file')
  return join(got, name)
}

const pipArguments = (dir: string, requirements: string): string[] => [
  ...['-m', 'pip', 'download', '-q', '--no-deps', '--only-binary=:all:', '--require-hashes'],
  // what is fetched is kept by us: a second copy in pip's cache would only fill the disk
  ...['--no-cache-dir', '--retries', '2', '-d', dir, '-r', requirements],
]

/** pip's failure in words; a failure that is none of pip's own stays as it is. */
function told(error: unknown, source: Extract<Source, { kind: 'index' }>): unknown {
  if (!(error instanceof ExecaError) || error.isCanceled) return error
  if (error.code === 'ENOENT') return new Error('python3 is not installed', { cause: error })
  const text = String(error.stderr)
  if (/No module named '?pip/.test(text)) return new Error('python3 has no pip', { cause: error })
  if (text.includes('DO NOT MATCH THE HASHES')) {
    const found = /Got\s+([0-9a-f]{64})/.exec(text)?.[1] ?? 'another'
    return new LlmgwError('LLMGW_DIGEST_MISMATCH', {
      artifact: source.package,
      source: sourceName(source),
      found,
      expected: source.sha256.join(' or '),
    })
  }
  const last = text.trim().split('\n').at(-1)?.slice(0, 300)
  return Object.assign(new Error(last || error.shortMessage, { cause: error }), { stderr: text })
}

/** Bytes of all files beneath a folder; files that vanish meanwhile count nothing. */
async function bytesUnder(dir: string): Promise<number> {
  let sum = 0
  const entries = await readdir(dir, { recursive: true, withFileTypes: true }).catch(() => [])
  for (const entry of entries) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath ?? entry.path, entry.name)
    sum += await stat(path).then(
      (it) => it.size,
      () => 0,
    )
  }
  return sum
}
