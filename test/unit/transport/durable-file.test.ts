// Tests of files that are there whole or not at all.
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { writeDurably, writeWhole } from '../../../transport/durable-file.ts'

const ways: [name: string, write: (path: string, text: string, mode: number) => unknown][] = [
  ['writeDurably', writeDurably],
  ['writeWhole', writeWhole],
]

for (const [name, write] of ways) {
  t.test(
    `${name} replaces a file, with the mode that is asked for and nothing beside it`,
    async (t) => {
      const dir = t.testdir()
      const path = join(dir, 'file')
      writeFileSync(path, 'old', { mode: 0o644 })
      await write(path, 'new', 0o600)
      t.equal(readFileSync(path, 'utf8'), 'new')
      t.equal(statSync(path).mode & 0o777, 0o600)
      t.same(readdirSync(dir), ['file'])
    },
  )

  t.test(`${name} fails where its folder is missing`, async (t) => {
    const path = join(t.testdir(), 'nowhere', 'file')
    await t.rejects(async () => write(path, 'new', 0o600), { code: 'ENOENT' })
  })
}
