// Tests of what an instance remembers, read from a damaged file.
import { writeFileSync } from 'node:fs'
import t from 'tap'
import { layout, readMemory } from '../../../bin/instance.ts'

t.test('a memory that is not YAML, or says something else, is refused with its path', async (t) => {
  const paths = layout(t.testdir())
  t.equal(readMemory(paths), null)
  for (const text of ['version: [', 'version: 1\nname: a\n']) {
    writeFileSync(paths.memory, text)
    t.throws(() => readMemory(paths), {
      code: 'LLMGW_CONFIG_INVALID',
      message: new RegExp(paths.memory),
    })
  }
})
