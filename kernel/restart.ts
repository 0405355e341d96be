// Pure: when an actor is restarted after its end, how often within a period, and after which delay.

export type Limits = {
  /** At most this many restarts within any `periodMs`. */
  intensity: number
  periodMs: number
  /** The delay of the first restart; it doubles (0 counts as 1) with each further one within the period, up to `max`. */
  delayMs: { min: number; max: number }
}

/** The restarts of the last period. A value: spending answers a new one. */
export type Budget = { readonly limits: Limits; readonly spentAtMs: readonly number[] }

export type RestartType = 'permanent' | 'transient' | 'temporary'

/** How an incarnation ended: of its own will, by a throw, or because its parent stopped it. */
export type Reason = 'ended' | 'crashed' | 'stopped'

/** OTP's table: permanent always, transient after a crash, temporary never; what its parent stopped stays stopped. */
export function isRestarted(type: RestartType, reason: Reason): boolean {
  if (reason === 'stopped' || type === 'temporary') return false
  return type === 'permanent' || reason === 'crashed'
}

export const newBudget = (limits: Limits): Budget => ({ limits, spentAtMs: [] })

/**
 * One restart at `atMs` of a monotonic clock: the budget left and the delay before it, or null past the limit.
 * `jitter` in 0..1 draws the delay between `min` (0) and the full one (1, the default).
 */
export function spend(
  budget: Budget,
  atMs: number,
  jitter = 1,
): { budget: Budget; delayMs: number } | null {
  const { limits } = budget
  const recent = budget.spentAtMs.filter((spentAtMs) => atMs - spentAtMs < limits.periodMs)
  if (recent.length >= limits.intensity) return null
  const { min, max } = limits.delayMs
  const fullMs = Math.min(max, Math.max(min, 1) * 2 ** recent.length)
  return {
    budget: { limits, spentAtMs: [...recent, atMs] },
    delayMs: min + (fullMs - min) * jitter,
  }
}
