// What a shard keeps in its folder, and the last lines of its log.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { lastLines, recall, recallAll } from '../../../../../actors/shard/io/folder.ts'
import { temporaryFolder } from '../../../../support/own-process.ts'

t.test('what cannot be understood is said, and is nothing', async (t) => {
  const { dir, remove } = temporaryFolder()
  t.teardown(remove)
  const warnings: string[] = []
  const log = { warn: (_: object, text: string) => void warnings.push(text) }
  t.equal(recall(dir, log), null)
  t.same(warnings, [])
  writeFileSync(join(dir, 'shard.json'), '{')
  t.equal(recall(dir, log), null)
  t.equal(warnings.length, 1)
  t.same(recallAll(join(dir, 'none'), log), [])
})

t.test('the last lines of a log come whole, cut to their width, without secrets', async (t) => {
  const { dir, remove } = temporaryFolder()
  t.teardown(remove)
  const path = join(dir, 'log')
  const read = (count: number): string[] =>
    lastLines(path, count, { secrets: ['hidden-key'], width: 20 })
  t.same(read(5), [], 'none where there is no log')
  writeFileSync(path, 'one\n\nuse hidden-key\nlong line that is longer than that\n')
  t.same(read(3), ['', 'use [redacted]', 'long line that is lo'])
  writeFileSync(path, `hidden-key${'x'.repeat(300_000)}\nlast\n`)
  t.same(read(5), ['last'], 'a line that is cut by the limit is left out')
})
