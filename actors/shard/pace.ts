// Whether a ready engine gets on with its requests, by what it counts of itself.
import type { Measure } from './protocol.ts'

/** The last sign that an engine gets on: its progress and when it was seen; null before it told any. */
export type Pace = {
  progress: number
  at: number
  /** The one-token probe since that sign: not made, under way, or without a token. */
  probe: 'none' | 'asked' | 'failed'
}

/**
 * The pace after a look at `at`. A sign is progress that is another than before, or that nothing runs. A look that does not
 * tell is no sign: an engine that stands may leave its counts unanswered too.
 */
export function paceAfter(pace: Pace | null, measure: Measure, at: number): Pace | null {
  const { progress, running } = measure
  if (progress === null || running === null) return pace
  const gotOn = pace === null || progress !== pace.progress || running === 0
  return gotOn ? { progress, at, probe: 'none' } : pace
}
