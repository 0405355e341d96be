// Rules of the house that no linter knows: the first line, and what a pure file never asks of the world.

import { readFileSync } from 'node:fs'
import t from 'tap'
import { filesIn, sources } from '../../../tools/sources.ts'

const pure = [
  /^kernel\/(step|actor|restart|errors|assert)\.ts$/,
  /^transport\/contract\//,
  /^engines\//,
  /^actors\/(?!.*\/io\/)/,
]
/** Time, randomness and the process arrive as arguments. */
const world =
  /\b(Date\.now|new Date\(\)|performance\.|Math\.random|randomUUID|setTimeout|setInterval|setImmediate|process\.(?:env|argv|pid|cwd|exit|kill|on|hrtime|platform|memoryUsage)\b|await fetch\(|globalThis)/

t.test('the first line of a file says its duty', async (t) => {
  const all = filesIn(
    ['kernel', 'transport', 'engines', 'actors', 'bin', 'console', 'tools', 'test'],
    ['.ts', '.mjs', '.py', '.sh'],
  ).filter((path) => !path.startsWith('test/support/import-table/'))
  const heads = all.map((path) => {
    const [first = '', second = ''] = readFileSync(path, 'utf8').split('\n')
    return { path, line: first.startsWith('#!') ? second : first }
  })
  t.same(
    heads.filter(({ line }) => !/^(\/\/|#|""")/.test(line)).map(({ path }) => path),
    [],
  )
})

t.test('a pure file reads no clock, rolls no dice and touches no process', async (t) => {
  const found = sources()
    .filter(({ path }) => pure.some((pattern) => pattern.test(path)))
    .flatMap(({ path, text }) =>
      text
        .split('\n')
        .map((line, index) => ({ at: `${path}:${index + 1}`, line }))
        .filter(({ line }) => !/^\s*(\/\/|\*|\/\*)/.test(line) && world.test(line)),
    )
  t.same(found, [])
})
