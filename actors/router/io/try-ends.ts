// Gathers the ends of tries and tells them to the table's actor in batches.
import type { TryEnd } from '../table/protocol.ts'

/** After a mailbox was full. */
const retryMs = 100

/** `tell` answers false where it could not take them; they are then told with the next ones. */
export function gatherTryEnds(tell: (tries: readonly TryEnd[]) => boolean): (end: TryEnd) => void {
  let gathered: TryEnd[] = []
  const flush = (): void => {
    const tries = gathered
    gathered = []
    if (tell(tries)) return
    gathered = [...tries, ...gathered]
    setTimeout(flush, retryMs).unref()
  }
  return (end) => {
    gathered.push(end)
    if (gathered.length === 1) setImmediate(flush)
  }
}
