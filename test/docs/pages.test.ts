// Holds the pages that are made from the sources against them.
import { existsSync, readFileSync } from 'node:fs'
import t from 'tap'
import { pages } from '../../tools/docs/pages.ts'

for (const { path, text } of pages) {
  t.test(`${path} says what the sources say (else: npm run docs)`, async (t) => {
    t.equal(existsSync(path) ? readFileSync(path, 'utf8') : '', text())
  })
}
