// The codec: plain values survive, everything else is refused, and no bytes can harm the reader.
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { pack } from 'msgpackr'
import t from 'tap'
import { decode, encode } from '../../../transport/codec.ts'

const limitBytes = 64 * 1024
const unpack = (bytes: Uint8Array) => decode(bytes, limitBytes, 'test')

t.test('plain values come back as they were', async (t) => {
  const scalar = fc.oneof(
    fc.string(),
    fc.boolean(),
    fc.constant(null),
    fc.integer({ min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER }),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => (Object.is(n, -0) ? 0 : n)),
  )
  const key = fc.string().filter((it) => it !== '__proto__')
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      scalar,
      fc.array(tie('value')),
      fc.dictionary(key, tie('value'), { noNullPrototype: true }),
    ),
  }))
  const same = fc.property(value, (it) => {
    assert.deepEqual(unpack(encode(it)), { ok: true, value: it })
  })
  t.doesNotThrow(() => fc.assert(same, { numRuns: 200 }))
})

t.test('properties that are undefined are left out', async (t) => {
  t.strictSame(unpack(encode({ a: 1, b: undefined, c: [{ d: undefined }] })), {
    ok: true,
    value: { a: 1, c: [{}] },
  })
})

t.test('what is not plain is refused by the sender', async (t) => {
  class Thing {}
  const loop: unknown[] = []
  loop.push(loop)
  const parsed: unknown = JSON.parse('{"__proto__": {"a": 1}}')
  for (const value of [
    1n,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    [undefined],
    new Date(0),
    new Map(),
    new Set(),
    new Uint8Array(1),
    new Thing(),
    () => 1,
    Symbol.iterator,
    loop,
    parsed,
  ]) {
    t.throws(() => encode({ value }), TypeError)
  }
})

t.test('packed results do not share memory', async (t) => {
  const first = encode({ text: 'first' })
  const before = Buffer.from(first)
  for (let i = 0; i < 100; i++) encode({ text: `other ${i}` })
  t.strictSame(Buffer.from(first), before)
})

t.test('whole numbers of 64 bits arrive as numbers', async (t) => {
  t.strictSame(unpack(pack(2n ** 52n)), { ok: true, value: 2 ** 52 })
})

t.test('what other senders may pack is refused by the reader', async (t) => {
  for (const value of [new Date(0), new Uint8Array(3), Number.NaN]) {
    t.match(unpack(pack({ value })), { ok: false, error: { code: 'LLMGW_BAD_MESSAGE' } })
  }
})

t.test('too many bytes are refused before anything is unpacked', async (t) => {
  t.match(decode(new Uint8Array(11), 10, 'there'), {
    ok: false,
    error: { code: 'LLMGW_BAD_MESSAGE', details: { subject: 'there' } },
  })
})

t.test('nesting too deep for the stack is refused', async (t) => {
  t.match(unpack(new Uint8Array(20_000).fill(0x91)), { ok: false })
  t.match(unpack(new Uint8Array([...Array(2_000).fill(0x91), 0xc0])), { ok: false })
})

t.test('claims of huge lengths are refused at once', async (t) => {
  for (const head of [0xdd, 0xdf, 0xdb, 0xc6, 0xc9]) {
    t.match(unpack(new Uint8Array([head, 0xff, 0xff, 0xff, 0xff])), { ok: false })
  }
})

t.test('random bytes never throw and never touch prototypes', async (t) => {
  const unharmed = fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
    unpack(bytes)
  })
  t.doesNotThrow(() => fc.assert(unharmed, { numRuns: 2000 }))
  t.strictSame(Object.keys(Object.prototype), [])
  t.strictSame(unpack(encode({ still: 'working' })), { ok: true, value: { still: 'working' } })
})
