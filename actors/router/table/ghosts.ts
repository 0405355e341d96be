// When a request that was given up during prefill has left the engine.
import type { Ghost, GhostCheck } from './protocol.ts'

// Measured: 100 tokens a second on one core with a small model; a fifth of that is assumed.
const tokensPerSecond = 20
const bytesPerToken = 4
/** Waiting behind others counts too, however short the prompt. */
const leastMs = 10_000
/** Bytes of images are no tokens: no prompt is taken to be longer. */
const mostMs = 900_000

/** How long a prompt of that many bytes may at most keep an engine busy, where the engine does not tell. */
export const ghostMs = (promptBytes: number): number =>
  Math.min(mostMs, leastMs + (promptBytes / bytesPerToken / tokensPerSecond) * 1000)

/**
 * The ghosts that are gone: those past their deadline, and as many of those that were given up before the engine was
 * asked as its count leaves no room for. What the engine counts beyond this router's settled requests may be ghosts
 * or requests of others, so no ghost ends early; while others are busy some end late.
 */
export function goneGhosts(check: GhostCheck): Ghost[] {
  const { askedAt, busy, settled, ghosts, now } = check
  const expired = ghosts.filter((it) => it.until <= now)
  if (busy === null) return expired
  const asked = ghosts.filter((it) => it.at < askedAt && !expired.includes(it))
  const gone = Math.max(0, asked.length - Math.max(0, busy - settled))
  return [...expired, ...asked.slice(0, gone)]
}
