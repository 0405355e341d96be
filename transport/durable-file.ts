// Files that are there whole or not at all, whenever the machine stops.
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
