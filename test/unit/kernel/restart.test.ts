// The restart budget: OTP's table, and properties over every sequence of failures.
import fc from 'fast-check'
import t, { type Test } from 'tap'
import {
  type Budget,
  isRestarted,
  type Limits,
  newBudget,
  type Reason,
  type RestartType,
  spend,
} from '../../../kernel/restart.ts'

const limits: fc.Arbitrary<Limits> = fc
  .record({
    intensity: fc.nat(8),
    periodMs: fc.integer({ min: 1, max: 10_000 }),
    min: fc.integer({ min: 0, max: 1000 }),
    more: fc.nat(60_000),
  })
  .map(({ min, more, ...rest }) => ({ ...rest, delayMs: { min, max: min + more } }))
const gapsMs = fc.array(fc.nat(4000), { maxLength: 60 })

const holds = (t: Test, property: fc.IRawProperty<unknown>) =>
  t.doesNotThrow(() => fc.assert(property))

/** All grants of failures that come after these gaps: when, and with which delay. */
function grants(given: Limits, gaps: readonly number[], jitter?: number) {
  let budget: Budget = newBudget(given)
  let atMs = 0
  return gaps.flatMap((gapMs) => {
    atMs += gapMs
    const grant = spend(budget, atMs, jitter)
    if (!grant) return []
    budget = grant.budget
    return [{ atMs, delayMs: grant.delayMs }]
  })
}

t.test('an actor is restarted by its type and the way it ended, as in OTP', async (t) => {
  const table: [RestartType, Reason, boolean][] = [
    ['permanent', 'ended', true],
    ['permanent', 'crashed', true],
    ['permanent', 'stopped', false],
    ['transient', 'ended', false],
    ['transient', 'crashed', true],
    ['transient', 'stopped', false],
    ['temporary', 'ended', false],
    ['temporary', 'crashed', false],
    ['temporary', 'stopped', false],
  ]
  for (const [type, reason, restarted] of table) {
    t.equal(isRestarted(type, reason), restarted, `${type} ${reason}`)
  }
})

t.test('no window of the period ever holds more than the intensity', async (t) => {
  holds(
    t,
    fc.property(limits, gapsMs, (given, gaps) => {
      const times = grants(given, gaps).map(({ atMs }) => atMs)
      return times.every((startMs) => {
        const within = times.filter((atMs) => atMs >= startMs && atMs < startMs + given.periodMs)
        return within.length <= given.intensity
      })
    }),
  )
})

t.test('delays stay within their bounds, with any jitter', async (t) => {
  holds(
    t,
    fc.property(limits, gapsMs, fc.double({ min: 0, max: 1, noNaN: true }), (given, gaps, jitter) =>
      grants(given, gaps, jitter).every(
        ({ delayMs }) => delayMs >= given.delayMs.min && delayMs <= given.delayMs.max,
      ),
    ),
  )
})

t.test('delays grow while failures follow each other within one period', async (t) => {
  holds(
    t,
    fc.property(limits, (given) => {
      const burst = grants(given, Array(given.intensity).fill(0))
      return (
        burst.length === given.intensity &&
        burst.every(({ delayMs }, index) => delayMs >= (burst[index - 1]?.delayMs ?? 0))
      )
    }),
  )
})

t.test('delays double up to the longest, and begin anew after a quiet period', async (t) => {
  const given = { intensity: 5, periodMs: 1000, delayMs: { min: 10, max: 50 } }
  const delays = grants(given, [0, 1, 1, 1, 1, 1, 2000]).map(({ delayMs }) => delayMs)
  t.same(delays, [10, 20, 40, 50, 50, 10])
})

t.test('a refused restart leaves the budget as it was', async (t) => {
  const budget = newBudget({ intensity: 0, periodMs: 1, delayMs: { min: 0, max: 0 } })
  t.equal(spend(budget, 5), null)
  t.same(budget.spentAtMs, [])
})
