// Tests of the checks that hold unless the program is wrong.
import t from 'tap'
import { assertNever, present } from '../../../kernel/assert.ts'

t.test(
  'what belongs to no union is named by its kind, and nothing of its content is told',
  async (t) => {
    const told = (value: unknown): string => {
      try {
        return assertNever(value as never)
      } catch (error) {
        return (error as Error).message
      }
    }
    t.equal(told({ type: 'start', key: 'secret' }), 'not a member of its union: start')
    t.equal(told({ phase: 'idle', key: 'secret' }), 'not a member of its union: idle')
    t.equal(told('secret'), 'not a member of its union: string')
    t.equal(told(null), 'not a member of its union: object')
  },
)

t.test('what must be there is handed on, and its absence names it', async (t) => {
  t.equal(present(0, 'a number'), 0)
  t.throws(() => present(null, 'the model'), { message: 'missing: the model' })
  t.throws(() => present(undefined, 'the model'), { message: 'missing: the model' })
})
