// Holds docs/timeouts.md against the constants of the sources: each wait is listed with its value and reason.
import { readFileSync } from 'node:fs'
import t from 'tap'
import { sources } from '../support/sources.ts'

/** `const fooMs = 5_000` at any depth, `export const fooMs = …` whatever it is made of, but no function. */
const constants = /^( *)(export )?const (\w+Ms|\w*[dD]eadline\w*)(?:: number)? = (?!.*=>)(.+)$/gm
const literal = /^[\d_]+( \* [\d_]+)*$/

const milliseconds = (text: string) =>
  literal.test(text)
    ? text.split(' * ').reduce((product, factor) => product * Number(factor.replaceAll('_', '')), 1)
    : null

const inSources = sources().flatMap(({ path, text }) =>
  [...text.matchAll(constants)]
    .map(([, indent = '', exported, name = '', value = '']) => ({
      key: `${name} in ${path}`,
      value: milliseconds(value),
      constant: literal.test(value) || (exported !== undefined && indent === ''),
    }))
    .filter(({ constant }) => constant),
)

const onPage = new Map(
  [
    ...readFileSync('docs/timeouts.md', 'utf8').matchAll(
      /^\| `(\w+)` \| `([^`]+)` \| ([^|]+) \| ([^|]+) \|$/gm,
    ),
  ].map(([, name, path, value = '', reason = '']) => [`${name} in ${path}`, { value, reason }]),
)

t.test('every wait and deadline of the sources is on the page', async (t) => {
  t.same(
    inSources.map(({ key }) => key).filter((key) => !onPage.has(key)),
    [],
  )
})

t.test('the page lists no constant that is gone', async (t) => {
  const keys = new Set(inSources.map(({ key }) => key))
  t.same(
    [...onPage.keys()].filter((key) => !keys.has(key)),
    [],
  )
})

t.test('the page gives the values of the sources', async (t) => {
  const wrong = inSources.filter(({ key, value }) => {
    const row = onPage.get(key)
    return row && value !== null && row.value !== String(value)
  })
  t.same(wrong, [])
})
