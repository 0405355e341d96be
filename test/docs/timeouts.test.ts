// Demands a reason for each wait and deadline of the sources; pages.test.ts holds the page that lists them.
import t from 'tap'
import { waitsIn } from '../../tools/docs/timeouts.ts'
import { sources } from '../../tools/sources.ts'

t.test('a comment beside each wait says why it has its value', async (t) => {
  const waits = sources().flatMap(({ path }) => waitsIn(path))
  t.same(
    waits.filter(({ reason }) => reason === '').map(({ name, path }) => `${name} in ${path}`),
    [],
  )
})
