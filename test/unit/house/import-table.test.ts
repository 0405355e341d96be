// Shows that each rule of the import table fires, on the fixtures of test/support/import-table and nowhere else.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { cruise, type ICruiseResult, type IFlattenedRuleSet } from 'dependency-cruiser'
import extractConfig from 'dependency-cruiser/config-utl/extract-depcruise-config'
import t from 'tap'

const fixtures = join(process.cwd(), 'test/support/import-table')
const config = await extractConfig(join(process.cwd(), '.dependency-cruiser.mjs'))
const { exclude: _, ...options } = config.options ?? {}
const { output } = await cruise(['.'], {
  ...options,
  baseDir: fixtures,
  validate: true,
  ruleSet: config as IFlattenedRuleSet,
})
const { modules } = output as ICruiseResult

/** The rules that the comment behind each import names. */
const expected = (source: string) =>
  readFileSync(join(fixtures, source), 'utf8')
    .split('\n')
    .flatMap((line) => {
      const [, specifier] = /'([^']+)'/.exec(line) ?? []
      const [, rules = ''] = / \/\/ (.+)$/.exec(line) ?? []
      return specifier ? [`${specifier}: ${rules}`] : []
    })

const found = (module: ICruiseResult['modules'][number]) =>
  module.dependencies.map(
    ({ protocol, module: name, rules = [] }) =>
      `${protocol ?? ''}${name}: ${rules.map((rule) => rule.name).join(', ')}`,
  )

const sources = modules.filter(({ source }) => /^[a-z]+\/.*\.(ts|mjs)$/.test(source))
const seen = new Set(
  modules.flatMap(({ dependencies }) =>
    dependencies.flatMap(({ rules = [] }) => rules.map(({ name }) => name)),
  ),
)

for (const module of sources) {
  t.test(`the import table holds for ${module.source}`, async (t) => {
    t.same(found(module).sort(), expected(module.source).sort())
  })
}

t.test('every rule of the import table has a fixture that breaks it', async (t) => {
  t.same(
    (config.forbidden ?? []).map(({ name }) => name ?? '').filter((name) => !seen.has(name)),
    [],
  )
})
