// How verbs print sizes, durations, progress and tables.
import t from 'tap'
import { count, duration, progress, size, table, tail } from '../../../bin/output.ts'

t.test('sizes are read in the unit that fits', async (t) => {
  t.equal(size(0), '0 B')
  t.equal(size(1023), '1023 B')
  t.equal(size(1536), '1.5 KiB')
  t.equal(size(98_362_432), '93.8 MiB')
  t.equal(size(250 * 2 ** 30), '250 GiB')
})

t.test('durations are read in the unit that fits', async (t) => {
  t.equal(duration(1234), '1.2 s')
  t.equal(duration(59_400), '59 s')
  t.equal(duration(65_000), '1 min 5 s')
  t.equal(duration(3_700_000), '1 h 1 min')
})

t.test('numbers and plurals are right', async (t) => {
  t.equal(count(1, 'model'), '1 model')
  t.equal(count(3, 'control plane'), '3 control planes')
})

t.test('a line of progress is printed once, and again only when it changes (ND12)', async (t) => {
  const lines: string[] = []
  const say = progress((line) => lines.push(line))
  for (const text of ['a', 'a', 'b', 'b', 'a']) say('x', text)
  say('y', 'a')
  t.same(lines, ['x: a', 'x: b', 'x: a', 'y: a'])
})

t.test('how much is done is told with the line, and by itself every two seconds', async (t) => {
  const lines: string[] = []
  let now = 0
  const say = progress(
    (line) => lines.push(line),
    () => now,
  )
  for (now = 0; now <= 4_000; now += 500) say('x', 'fetching', ` (${now})`)
  say('x', 'ready')
  t.same(lines, ['x: fetching (0)', 'x: fetching (2000)', 'x: fetching (4000)', 'x: ready'])
})

t.test('progress tells bytes, rate and time left as far as they are known', async (t) => {
  const it = { what: 'x', doneBytes: 2 ** 20, totalBytes: 3 * 2 ** 20, bytesPerSecond: 2 ** 20 }
  t.equal(tail(it), ' (1.0 MiB of 3.0 MiB, 1.0 MiB/s, 2.0 s left)')
  t.equal(tail({ ...it, totalBytes: null }), ' (1.0 MiB, 1.0 MiB/s)')
  t.equal(tail({ ...it, bytesPerSecond: null }), ' (1.0 MiB of 3.0 MiB)')
  t.match(tail({ ...it, totalBytes: 1 }), / 0\.0 s left\)$/, 'more than was announced')
  t.equal(tail({ ...it, doneBytes: null }), '')
  t.equal(tail(null), '')
})

t.test('a table has aligned columns and no lines', async (t) => {
  t.equal(
    table(
      ['NAME', 'N'],
      [
        ['a', '1'],
        ['longer', '22'],
      ],
    ),
    'NAME    N\na       1\nlonger  22',
  )
})
