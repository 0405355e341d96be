// Progress of something long, told at most twice a second.
import type { Progress } from '../../../../transport/contract/node.ts'

/** Between two tellings: as often as a person can read. */
const minGapMs = 500

/** A function to be told the bytes done so far; it tells `onProgress` now and then, with the mean rate since the first telling. */
export function meter(
  what: string,
  totalBytes: number | null,
  onProgress: (progress: Progress) => void,
): (doneBytes: number) => void {
  let first: { at: number; bytes: number } | null = null
  let lastAt = Number.NEGATIVE_INFINITY
  return (doneBytes) => {
    const at = performance.now()
    if (at - lastAt < minGapMs) return
    lastAt = at
    first ??= { at, bytes: doneBytes }
    const elapsedMs = at - first.at
    const bytesPerSecond = elapsedMs > 0 ? ((doneBytes - first.bytes) * 1000) / elapsedMs : null
    onProgress({ what, doneBytes, totalBytes, bytesPerSecond })
  }
}
