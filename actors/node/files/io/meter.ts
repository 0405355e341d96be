// Progress of something long, told at most twice a second.
import type { Progress } from '../../../../transport/contract/node.ts'

/** Between two tellings: as often as a person can read. */
const minGapMs = 500

/** A function to be told the bytes done so far; it tells `onProgress` now and then, with the mean rate so far. What is over at once is not told. */
export function meter(
  what: string,
  totalBytes: number | null,
  onProgress: (progress: Progress) => void,
): (doneBytes: number) => void {
  let first: { at: number; bytes: number } | null = null
  let lastAt = performance.now()
  return (doneBytes) => {
    const at = performance.now()
    first ??= { at, bytes: doneBytes }
    if (at - lastAt < minGapMs) return
    lastAt = at
    const elapsedMs = at - first.at
    const bytesPerSecond = elapsedMs > 0 ? ((doneBytes - first.bytes) * 1000) / elapsedMs : null
    onProgress({ what, doneBytes, totalBytes, bytesPerSecond })
  }
}
