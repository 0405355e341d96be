// Tests of what an artifact's sources may say.
import t from 'tap'
import { sourceSchema } from '../../../../transport/contract/artifact.ts'

t.test('a package of an index is a name and a version, and no option of pip', async (t) => {
  const source = { kind: 'index', package: 'uv', version: '0.13.8', sha256: ['0'.repeat(64)] }
  t.ok(sourceSchema.safeParse(source).success)
  for (const wrong of [{ package: '-r' }, { package: 'a b' }, { version: '-1' }, { sha256: [] }]) {
    t.notOk(sourceSchema.safeParse({ ...source, ...wrong }).success, JSON.stringify(wrong))
  }
})
