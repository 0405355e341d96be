// Takes one member out of a zip file or wheel.
import { createWriteStream } from 'node:fs'
import { dirname } from 'node:path'
import { pipeline } from 'node:stream/promises'
import yauzl from 'yauzl'
import { demandRoom } from './disk.ts'

/** Writes the member of exactly this name to `target`, which no name inside the archive can change. */
export async function unpack(
  archive: string,
  member: string,
  target: string,
  signal?: AbortSignal,
): Promise<void> {
  const zip = await yauzl.openPromise(archive, { lazyEntries: true, autoClose: false })
  try {
    for await (const entry of zip.eachEntry()) {
      if (entry.fileName !== member) continue
      await demandRoom(dirname(target), entry.uncompressedSize)
      const content = await zip.openReadStreamPromise(entry)
      return await pipeline(content, createWriteStream(target), { signal })
    }
  } finally {
    zip.close()
  }
  throw new Error(`there is no ${member} in it`)
}
