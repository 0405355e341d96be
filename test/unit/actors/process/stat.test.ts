// Lines of /proc/PID/stat, whole and broken.
import t from 'tap'
import { parseStat } from '../../../../actors/process/stat.ts'

const line = (command: string, state: string): string =>
  `42 (${command}) ${state} 1 40 40 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 100 200 18446744073709551615`

t.test('group, start and state are read after the last bracket of the command', async (t) => {
  t.same(parseStat(line('sh', 'S')), { running: true, group: 40, startTicks: 987654 })
  t.same(parseStat(line('a) R 9 (b', 'R')), { running: true, group: 40, startTicks: 987654 })
})

t.test('a zombie does not run', async (t) => {
  t.equal(parseStat(line('sh', 'Z'))?.running, false)
})

t.test('what is not such a line is nothing', async (t) => {
  for (const text of ['', '42 sh S 1', '42 (sh) S 1 40']) t.equal(parseStat(text), null)
})
