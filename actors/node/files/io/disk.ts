// Room on a disk, digests of files, and the one error for a disk that is full.
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { LlmgwError } from '../../../../kernel/errors.ts'

/** Bytes that this program may still write on the disk of an existing folder. */
async function freeBytesOf(dir: string): Promise<number> {
  const { bavail, bsize } = await statfs(dir)
  return bavail * bsize
}

/** Throws LLMGW_DISK_FULL if `neededBytes` do not fit on the disk of an existing folder. */
export async function demandRoom(dir: string, neededBytes: number): Promise<void> {
  const freeBytes = await freeBytesOf(dir)
  if (freeBytes < neededBytes) {
    throw new LlmgwError('LLMGW_DISK_FULL', { path: dir, neededBytes, freeBytes })
  }
}

/** LLMGW_DISK_FULL for an error that says so, whichever program met it; any other error as it is. */
export async function fullOr(error: unknown, dir: string, neededBytes?: number): Promise<unknown> {
  const { code, stderr } = error as { code?: unknown; stderr?: unknown }
  const full =
    code === 'ENOSPC' ||
    code === 'EDQUOT' ||
    (typeof stderr === 'string' && /No space left on device|Disk quota exceeded/.test(stderr))
  if (!full) return error
  const details = {
    path: dir,
    neededBytes: neededBytes ?? 'unknown',
    freeBytes: await freeBytesOf(dir),
  }
  return new LlmgwError('LLMGW_DISK_FULL', details, { cause: error })
}

/** SHA-256 of a file as 64 hex digits; `onBytes` is told the bytes read so far. */
export async function sha256Of(
  path: string,
  onBytes: (doneBytes: number) => void = () => {},
  signal?: AbortSignal,
): Promise<string> {
  const hash = createHash('sha256')
  let doneBytes = 0
  await pipeline(
    createReadStream(path, { highWaterMark: 1024 * 1024 }),
    async (chunks: AsyncIterable<Buffer>) => {
      for await (const chunk of chunks) {
        hash.update(chunk)
        doneBytes += chunk.length
        onBytes(doneBytes)
      }
    },
    { signal },
  )
  return hash.digest('hex')
}
