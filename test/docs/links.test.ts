// Follows the relative links of README.md and docs/ to files and headings.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { documents } from '../../tools/sources.ts'

const withoutCode = (text: string) =>
  text.replace(/^```[\s\S]*?^```/gm, '').replace(/`[^`\n]*`/g, '')

const linksIn = (text: string) =>
  [...withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target))

/** The anchor that a heading gets. */
const anchor = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

const anchorsOf = (path: string) =>
  [...readFileSync(path, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchor(heading))

for (const { path, text } of documents()) {
  t.test(`the links of ${path} lead somewhere`, async (t) => {
    const broken = linksIn(text).filter((link) => {
      const [file = '', heading] = link.split('#')
      const target = file === '' ? path : join(dirname(path), file)
      return !existsSync(target) || (heading !== undefined && !anchorsOf(target).includes(heading))
    })
    t.same(broken, [])
  })
}
