// Reads small files of /proc and /sys beneath a root, so that a test can bring its own.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The text of a file; null where there is none or it refuses to be read, as many in /sys do. */
export type Read = (path: string) => Promise<string | null>

export const readBelow =
  (root: string): Read =>
  (path) =>
    readFile(join(root, path), 'utf8').catch(() => null)
