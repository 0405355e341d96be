// Holds the error codes that sources and pages speak of against the catalogue.
import t from 'tap'
import { catalogue } from '../../kernel/errors.ts'
import { documents, sources } from '../../tools/sources.ts'

const home = 'kernel/errors.ts'
/** Names that look like codes and are variables of the environment. */
const notCodes = new Set<string>(['LLMGW_PROCESS'])
/** Codes that stand in the catalogue ahead of their use, each with the reason. */
const ahead = new Map<string, string>([])

const codesIn = (text: string) =>
  [...text.matchAll(/['"`](LLMGW_[A-Z0-9_]+)['"`]/g)].map(([, code = '']) => code)

const used = sources().flatMap(({ path, text }) =>
  path === home ? [] : codesIn(text).map((code) => ({ path, code })),
)

t.test('every code that a source or page names is in the catalogue', async (t) => {
  const named = documents().flatMap(({ path, text }) =>
    codesIn(text).map((code) => ({ path, code })),
  )
  const strangers = [...used, ...named].filter(
    ({ code }) => !(code in catalogue) && !notCodes.has(code),
  )
  t.same(strangers, [])
})

t.test('every code of the catalogue is used', async (t) => {
  const known = new Set(used.map(({ code }) => code))
  const unused = Object.keys(catalogue).filter((code) => !known.has(code) && !ahead.has(code))
  t.same(unused, [])
})

t.test('codes that stand ahead of their use are not used yet', async (t) => {
  const known = new Set(used.map(({ code }) => code))
  t.same(
    [...ahead.keys()].filter((code) => known.has(code) || !(code in catalogue)),
    [],
  )
})
