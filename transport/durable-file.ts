// Files that are there whole or not at all: over the death of the machine, or of the program alone.
import { renameSync, writeFileSync } from 'node:fs'
import { open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Writes beside the file, syncs, and renames over it. The folder must exist; `mode` is that of the new file. */
export const writeDurably = async (
  path: string,
  content: string | Uint8Array,
  mode: number,
): Promise<void> => {
  const partPath = `${path}.part`
  const part = await open(partPath, 'w', mode)
  try {
    // a leftover of another mode keeps it when opened again
    await part.chmod(mode)
    await part.writeFile(content)
    await part.sync()
  } finally {
    await part.close()
  }
  await rename(partPath, path)
  const folder = await open(dirname(path), 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/**
 * Writes beside the file and renames over it: a reader meets the old one or the new one, whenever this
 * program is killed. Not synced, since what is written so means little after a start of the machine.
 */
export const writeWhole = (path: string, text: string, mode = 0o600): void => {
  const partPath = `${path}.${process.pid}.part`
  writeFileSync(partPath, text, { mode })
  renameSync(partPath, path)
}
