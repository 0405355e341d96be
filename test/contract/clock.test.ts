// What every clock keeps to, the machine's and the one of the tests.
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { type Clock, systemClock } from '../../kernel/clock.ts'
import { manualClock } from '../support/manual-clock.ts'

const manual = manualClock(5)

const clocks: [string, Clock, (ms: number) => unknown][] = [
  ['the system clock', systemClock, (ms) => setTimeout(ms)],
  ['the manual clock', manual, (ms) => manual.advance(ms)],
]

for (const [name, clock, pass] of clocks) {
  t.test(`${name}: all three go on, by as much`, async (t) => {
    const read = () => [clock.monotonicMs(), clock.bootMs(), clock.wallMs()] as const
    const before = read()
    await pass(30)
    for (const [index, after] of read().entries()) {
      const passedMs = after - (before[index] ?? 0)
      t.ok(passedMs >= 15 && passedMs < 5000, `${passedMs} ms`) // uptime counts in 10 ms
    }
  })

  t.test(`${name}: timers fire once, in the order of their times, unless cancelled`, async (t) => {
    const fired: string[] = []
    clock.after(20, () => fired.push('late'))
    clock.after(1, () => {
      fired.push('early')
      clock.after(1, () => fired.push('started by another'))
    })
    const cancel = clock.after(1, () => fired.push('cancelled'))
    cancel()
    cancel()
    t.same(fired, [], 'never at once')
    for (let tries = 0; tries < 100 && fired.length < 3; tries += 1) await pass(60)
    await pass(5)
    t.same([...fired].sort(), ['early', 'late', 'started by another'])
    t.ok(fired.indexOf('early') < fired.indexOf('late'))
  })

  t.test(`${name}: a delay of weeks is not fired at once, a wrong one is refused`, async (t) => {
    const cancel = clock.after(2 ** 31 + 5, () => t.fail('fired'))
    await pass(10)
    cancel()
    for (const wrong of [-1, Number.NaN]) t.throws(() => clock.after(wrong, () => {}), RangeError)
  })
}

t.test(
  'the manual clock: suspension moves boot and wall time, a step the wall clock alone',
  async (t) => {
    const clock = manualClock()
    const wallMs = clock.wallMs()
    clock.suspend(100)
    clock.stepWall(-40)
    t.same([clock.monotonicMs(), clock.bootMs(), clock.wallMs() - wallMs], [0, 100, 60])
  },
)
