// Fields changed in a body whose other bytes stay.
import fc from 'fast-check'
import t from 'tap'
import { askForStream } from '../../../../../actors/router/surface/patch.ts'

const patch = (text: string, saysHow: boolean) =>
  Buffer.from(askForStream(Buffer.from(text), saysHow)).toString()

const usage = '{"include_usage":true}'

t.test('fields that are missing are put first, and no other byte changes', async (t) => {
  t.equal(
    patch(' {"model":"m","id":12345678901234567890,"x":1.50 }\n', false),
    ` {"stream":true,"stream_options":${usage},"model":"m","id":12345678901234567890,"x":1.50 }\n`,
  )
})

t.test('fields that are there are changed where they stand', async (t) => {
  t.equal(
    patch('{"語":"🙂","stream" : false,"z":9007199254740993}', true),
    `{"stream_options":${usage},"語":"🙂","stream" : true,"z":9007199254740993}`,
  )
  t.equal(
    patch('{"stream_options":{"a":[1,{"b":2}]},"stream":null,"m":1}', true),
    `{"stream_options":${usage},"stream":true,"m":1}`,
  )
  t.equal(
    patch('{"stream_options":[],"stream":{"x":"}"}}', true),
    `{"stream_options":${usage},"stream":true}`,
  )
})

t.test('repeated fields are all changed, and nested ones of the name are left', async (t) => {
  t.equal(
    patch('{"stream":false,"a":{"stream":false},"b":[{"stream":0}],"stream":false}', true),
    `{"stream_options":${usage},"stream":true,"a":{"stream":false},"b":[{"stream":0}],"stream":true}`,
  )
  t.equal(
    patch('{"str\\u0065am":false,"toString":1}', true),
    `{"stream_options":${usage},"str\\u0065am":true,"toString":1}`,
  )
})

t.test('of any object the rest is as it was', async (t) => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.boolean(), (object, stream) => {
      const before: Record<string, unknown> = { ...object, stream }
      const {
        stream: now,
        stream_options: options,
        ...rest
      } = JSON.parse(patch(JSON.stringify(before), true)) as Record<string, unknown>
      const {
        stream: _,
        stream_options: __,
        ...expected
      } = JSON.parse(JSON.stringify(before)) as Record<string, unknown>
      t.equal(now, true)
      t.same(options, { include_usage: true })
      t.same(rest, expected)
    }),
    { numRuns: 50 },
  )
})

t.test('a body that nests a hundred thousand times is patched, not crashed on', async (t) => {
  const deep = '['.repeat(100_000) + ']'.repeat(100_000)
  const before = `{"stream":false,"messages":${deep},"stream_options":${deep}}`
  t.ok(patch(before, true) === `{"stream":true,"messages":${deep},"stream_options":${usage}}`)
})
