// Tests of every outcome, for the test of the reporter that counts them; run by nobody else.
import t from 'tap'

t.test('passes', async (t) => {
  t.ok(true)
  t.ok(true)
})
t.test('is skipped', { skip: 'no such tool here' }, async () => {})
t.test('asserts nothing', async () => {})
t.test('skips within', async (t) => {
  t.pass('a server', { skip: 'no such server here' })
})
t.test('outer', async (t) => {
  await t.test('inner passes', async (t) => t.ok(true))
  await t.test('inner fails', async (t) => t.equal(1, 2, 'one is two'))
})
