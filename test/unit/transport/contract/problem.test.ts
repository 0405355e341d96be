// Tests of how what a schema found wrong is told.
import t from 'tap'
import { z } from 'zod'
import { firstIssue, parseJson, problemOf } from '../../../../transport/contract/problem.ts'

const schema = z.strictObject({ nats: z.strictObject({ port: z.number() }) })
const errorOf = (value: unknown): z.ZodError => {
  const { error } = schema.safeParse(value)
  if (error === undefined) throw new Error('the schema takes it')
  return error
}

t.test('the first wrong field is named by its path', async (t) => {
  const error = errorOf({ nats: { port: 'x' } })
  t.equal(firstIssue(error).field, 'nats.port')
  t.match(problemOf(error), /^nats\.port: .*expected number/)
})

t.test('where the whole is wrong, that is said', async (t) => {
  t.match(problemOf(errorOf(null)), /^\(whole\): .*expected object/)
})

t.test('what is told is one line and bounded, however long the value', async (t) => {
  const told = problemOf(errorOf({ nats: { port: 1 }, ['x'.repeat(2000)]: 1 }))
  t.equal(told.length, 500)
  t.notMatch(told, /\n/)
})

t.test('a text that fits its schema is read, another is refused in one line', async (t) => {
  t.same(parseJson(schema, '{"nats":{"port":1}}'), { nats: { port: 1 } })
  t.throws(() => parseJson(schema, '{"nats":{}}'), { message: /^nats\.port: [^\n]+$/ })
  t.throws(() => parseJson(schema, '{"nats'), SyntaxError)
})
