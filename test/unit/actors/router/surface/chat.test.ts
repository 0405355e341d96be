// Chat requests: what is asked of them and what is refused.
import t from 'tap'
import { readChat } from '../../../../../actors/router/surface/chat.ts'

const read = (text: string) => readChat(new TextEncoder().encode(text))

t.test('a chat needs a model, messages, and nothing else', async (t) => {
  t.same(read('{"model":"m","messages":[]}'), {
    ok: true,
    chat: { model: 'm', stream: false, choices: 1, saysHow: false },
  })
  t.match(read('{"model":"m","messages":[],"stream":true}'), {
    chat: { stream: true, saysHow: true },
  })
  t.match(read('{"model":"m","messages":[],"stream":null}'), {
    chat: { stream: false, saysHow: true },
  })
  t.match(read('{"model":"m","messages":[],"stream_options":{}}'), { chat: { saysHow: true } })
  t.match(read('{"model":"m","messages":[],"\\u0073tream":true}'), { chat: { stream: true } })
})

t.test('a refusal names the field, and never quotes the body', async (t) => {
  const cases: [string, string | null][] = [
    ['{"secret":', null],
    ['["secret"]', null],
    ['"secret"', null],
    ['\ufeff{"model":"m","messages":[]}', null],
    ['{"messages":[]}', 'model'],
    ['{"model":"","messages":[]}', 'model'],
    ['{"model":"m"}', 'messages'],
    ['{"model":"m","messages":{}}', 'messages'],
    ['{"model":"m","messages":[],"stream":1}', 'stream'],
  ]
  for (const [text, param] of cases) {
    const result = read(text)
    t.match(result, { ok: false, param, error: { code: 'LLMGW_INVALID_REQUEST' } }, text)
    t.notMatch(JSON.stringify(result), 'secret')
  }
  t.match(readChat(new Uint8Array([0x22, 0xc3, 0x28, 0x22])), { error: { message: /UTF-8/ } })
})

t.test('a hundred thousand brackets are refused, not crashed on', async (t) => {
  t.match(read('['.repeat(100_000)), { ok: false })
})

t.test('levels are counted outside of strings only', async (t) => {
  const nested = (levels: number, inner: string) =>
    read(`{"model":"m","messages":${'[{"a":'.repeat(levels)}${inner}${'}]'.repeat(levels)}}`)
  t.match(nested(249, '1'), { ok: true })
  t.match(nested(250, '1'), { ok: false, error: { message: /deeper than 500 levels/ } })
  for (const text of ['[[[[', '\\"[[[[', '\\\\', ']]]]]]]]\\\\\\"', '']) {
    t.match(nested(249, `"${text}"`), { ok: true }, text)
    t.match(nested(250, `"${text}"`), { ok: false }, text)
  }
})

t.test('how many answers are asked for is read where it means anything', async (t) => {
  for (const [n, choices] of [
    ['2', 2],
    ['500', 128],
    ['0', 1],
    ['-1', 1],
    ['1.5', 1],
    ['"2"', 1],
    ['null', 1],
  ] as const) {
    t.match(read(`{"model":"m","messages":[],"n":${n}}`), { chat: { choices } }, n)
  }
})
