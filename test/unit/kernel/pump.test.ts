// The pump: turns of bounded length, and no exception that reaches nact.
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { startPumps } from '../../../kernel/pump.ts'

t.test('a turn is at most 64 messages long, and waking twice is one turn', async (t) => {
  const pumps = startPumps((error) => t.fail(String(error)))
  let left = 200
  const turns: number[] = []
  const pump = pumps.add(() => {
    left -= 1
    return left > 0
  })
  pump.wake()
  pump.wake()
  for (let before = left; left > 0; before = left) {
    await setImmediate()
    if (before !== left) turns.push(before - left)
  }
  t.same(turns, [64, 64, 64, 8])
  pumps.stop()
})

t.test('a turn ends after 5 ms however much there is, and others get theirs', async (t) => {
  const pumps = startPumps((error) => t.fail(String(error)))
  let longest = 0
  let others = 0
  const slow = pumps.add(() => {
    const untilMs = performance.now() + 2
    while (performance.now() < untilMs) longest += 0
    longest += 1
    return longest < 20
  })
  const other = pumps.add(() => {
    others += 1
    return longest < 20
  })
  slow.wake()
  other.wake()
  await setImmediate()
  t.ok(longest <= 5, `${longest} messages in the first turn`)
  t.ok(others > 0)
  slow.stop()
  pumps.stop()
})

t.test('what the work throws is told, and the pump goes on', async (t) => {
  const faults: unknown[] = []
  const pumps = startPumps((error) => faults.push(error))
  let calls = 0
  const pump = pumps.add(() => {
    calls += 1
    if (calls === 1) throw new Error('broken')
    return false
  })
  pump.wake()
  await setImmediate()
  await setImmediate()
  await setImmediate()
  t.match(faults, [{ message: 'broken' }])
  t.equal(calls, 2)
  pumps.stop()
})

t.test('a pump that was stopped does nothing', async (t) => {
  const pumps = startPumps((error) => t.fail(String(error)))
  let worked = false
  const pump = pumps.add(() => {
    worked = true
    return false
  })
  pump.wake()
  pump.stop()
  pump.wake()
  await setImmediate()
  t.notOk(worked)
  pumps.stop()
})
