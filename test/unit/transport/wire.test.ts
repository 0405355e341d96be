// Envelopes: what is packed is opened, other versions and anything hostile are refused with the reason.
import fc from 'fast-check'
import t from 'tap'
import { z } from 'zod'
import { failure } from '../../../kernel/errors.ts'
import { encode } from '../../../transport/codec.ts'
import { maxMessageBytes } from '../../../transport/contract/envelope.ts'
import { openAnswer, openMessage, packAnswer, packMessage } from '../../../transport/wire.ts'

const schema = z.object({ n: z.number() })

t.test('a message arrives as it was sent', async (t) => {
  const bytes = packMessage({ id: 'a', remainingMs: 20, trace: 'tp', body: { n: 1 } })
  t.strictSame(openMessage(bytes, 's'), {
    ok: true,
    value: { v: 1, id: 'a', remainingMs: 20, trace: 'tp', body: { n: 1 } },
  })
})

t.test('fields of a newer minor version are passed over', async (t) => {
  const bytes = encode({ v: 1, id: 'a', body: 1, tomorrow: true })
  t.strictSame(openMessage(bytes, 's'), { ok: true, value: { v: 1, id: 'a', body: 1 } })
})

t.test('another version is refused by number, whatever else it changed', async (t) => {
  for (const bytes of [encode({ v: 2, id: 'a', body: 1 }), encode({ v: 0, identity: [] })]) {
    t.match(openMessage(bytes, 's'), { ok: false, error: { code: 'LLMGW_WIRE_VERSION' } })
    t.match(openAnswer(bytes, 's', schema), { ok: false, error: { code: 'LLMGW_WIRE_VERSION' } })
  }
})

t.test('what is no envelope is refused with the field that is wrong', async (t) => {
  for (const [value, problem] of [
    [null, /whole/],
    ['text', /whole/],
    [{ v: '1', id: 'a', body: 1 }, /^v:/],
    [{ v: 1, body: 1 }, /^id:/],
    [{ v: 1, id: 'a', remainingMs: -1 }, /^remainingMs:/],
  ] as const) {
    const opened = openMessage(encode(value), 'there')
    t.match(opened, { ok: false, error: { code: 'LLMGW_BAD_MESSAGE' } })
    t.match(opened, { error: { details: { problem } } })
  }
})

t.test('an answer arrives checked', async (t) => {
  const open = (value: unknown) =>
    openAnswer(packAnswer('s', 'a', { ok: true, value }), 's', schema)
  t.strictSame(open({ n: 1 }), { ok: true, value: { n: 1 } })
  t.match(open({ n: '1' }), { ok: false, error: { details: { problem: /^n: / } } })
})

t.test('a refusal arrives as it was answered', async (t) => {
  const error = failure('LLMGW_MODEL_UNKNOWN', { model: 'm' })
  t.strictSame(openAnswer(packAnswer('s', 'a', { ok: false, error }), 's', schema), {
    ok: false,
    error,
  })
})

t.test('an answer that cannot be sent says so', async (t) => {
  for (const value of [1n, 'x'.repeat(maxMessageBytes)]) {
    const opened = openAnswer(packAnswer('s', 'a', { ok: true, value }), 's', schema)
    t.match(opened, { ok: false, error: { code: 'LLMGW_BAD_MESSAGE' } })
  }
})

t.test('a refusal with a very long reason is shortened, not lost', async (t) => {
  const error = failure('LLMGW_STORE_FAILED', { key: 'k', problem: 'x'.repeat(10_000) })
  const opened = openAnswer(packAnswer('s', 'a', { ok: false, error }), 's', schema)
  t.match(opened, { ok: false, error: { code: 'LLMGW_STORE_FAILED' } })
})

t.test('a refusal with a code that nobody defined is none', async (t) => {
  for (const code of ['LLMGW_TOMORROW', 'toString', '__proto__']) {
    const bytes = encode({ v: 1, id: 'a', ok: false, error: { code, message: '', details: {} } })
    t.match(openAnswer(bytes, 's', schema), { ok: false, error: { code: 'LLMGW_BAD_MESSAGE' } })
  }
})

t.test('no bytes make the reader throw', async (t) => {
  const unharmed = fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
    openMessage(bytes, 's')
    openAnswer(bytes, 's', schema)
  })
  t.doesNotThrow(() => fc.assert(unharmed, { numRuns: 500 }))
})
