// Whole answers put together from a stream.
import t from 'tap'
import { createJoin, type Joined } from '../../../../../actors/router/surface/join.ts'

const head = { id: 'c1', object: 'chat.completion.chunk', created: 7, model: 'm' }

function join(events: readonly unknown[], { done = true } = {}): Joined {
  const it = createJoin()
  const lines = events.map((event) => `data: ${JSON.stringify(event)}\n\n`)
  it.feed(Buffer.from(lines.join('') + (done ? 'data: [DONE]\n\n' : '')))
  return it.finish()
}

const body = (joined: Joined): Record<string, unknown> =>
  joined.ok ? (JSON.parse(joined.body) as Record<string, unknown>) : { joined }

const part = (delta: object, more: object = {}) => ({
  ...head,
  choices: [{ index: 0, delta, finish_reason: null, ...more }],
})

t.test('content, role and finish reason', async (t) => {
  const answer = body(
    join([
      part({ role: 'assistant', content: null }),
      part({ content: 'Hel' }),
      part({ content: 'lo' }),
      part({}, { finish_reason: 'stop' }),
    ]),
  )
  t.strictSame(answer, {
    id: 'c1',
    object: 'chat.completion',
    created: 7,
    model: 'm',
    choices: [
      { index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' },
    ],
  })
})

t.test('reasoning and refusal are texts of their own', async (t) => {
  const answer = body(
    join([
      part({ role: 'assistant', reasoning_content: 'th' }),
      part({ reasoning_content: 'ink', refusal: 'n' }),
      part({ refusal: 'o', content: '' }, { finish_reason: 'stop' }),
    ]),
  )
  const message = { role: 'assistant', content: '', reasoning_content: 'think', refusal: 'no' }
  t.strictSame(answer['choices'], [{ index: 0, message, finish_reason: 'stop' }])
})

t.test('calls of tools are put together by index, arguments in a row', async (t) => {
  const call = (index: number | null, more: object) => part({ tool_calls: [{ index, ...more }] })
  const answer = body(
    join([
      call(0, { id: 'a', type: 'function', function: { name: 'one', arguments: '' } }),
      call(1, { id: 'b', type: 'function', function: { name: 'two', arguments: '{"y"' } }),
      call(0, { function: { arguments: '{"x":' } }),
      // continuation deltas of some engines carry null and empty fields (row 67)
      call(0, { id: '', type: null, function: { name: null, arguments: '1}' } }),
      call(1, { function: { arguments: ':2}' } }),
      part({}, { finish_reason: 'tool_calls' }),
    ]),
  )
  t.strictSame(answer['choices'], [
    {
      index: 0,
      message: {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'a', type: 'function', function: { name: 'one', arguments: '{"x":1}' } },
          { id: 'b', type: 'function', function: { name: 'two', arguments: '{"y":2}' } },
        ],
      },
      finish_reason: 'tool_calls',
    },
  ])
})

t.test('calls without an index follow one another by their ids', async (t) => {
  const call = (more: object) => part({ tool_calls: [more] })
  const answer = body(
    join([
      call({ id: 'a', function: { name: 'one', arguments: '{' } }),
      call({ function: { arguments: '}' } }),
      call({ id: 'b', function: { name: 'two', arguments: '[]' } }),
    ]),
  )
  t.match(answer, {
    choices: [
      {
        message: {
          tool_calls: [
            { id: 'a', function: { name: 'one', arguments: '{}' } },
            { id: 'b', function: { name: 'two', arguments: '[]' } },
          ],
        },
      },
    ],
  })
})

t.test('several choices keep apart, in the order of their index', async (t) => {
  const choice = (index: number, content: string, finish_reason: string | null) => ({
    ...head,
    choices: [{ index, delta: { content }, finish_reason }],
  })
  const answer = body(
    join([
      choice(1, 'b', null),
      choice(0, 'a', null),
      choice(1, 'B', 'length'),
      choice(0, 'A', 'stop'),
    ]),
  )
  t.match(answer['choices'], [
    { index: 0, message: { content: 'aA' }, finish_reason: 'stop' },
    { index: 1, message: { content: 'bB' }, finish_reason: 'length' },
  ])
})

t.test('log probabilities are a row', async (t) => {
  const one = { token: 'a', logprob: -0.1 }
  const two = { token: 'b', logprob: -0.2 }
  const answer = body(
    join([
      part({ content: 'a' }, { logprobs: { content: [one], refusal: null } }),
      part({ content: 'b' }, { logprobs: { content: [two] } }),
      part({}, { logprobs: null, finish_reason: 'stop' }),
    ]),
  )
  t.match(answer, { choices: [{ logprobs: { content: [one, two] } }] })
  const none = body(join([part({ content: 'a' }, { logprobs: null })]))
  t.match(none, { choices: [{ logprobs: null }] })
})

t.test('usage, fingerprint, timings and unknown fields are kept', async (t) => {
  const answer = body(
    join([
      { ...part({ content: 'a' }, { odd: 1 }), usage: null, system_fingerprint: 'f' },
      { ...part({ kind: 'x' }, { finish_reason: 'stop', odd: 2 }), usage: { total_tokens: 1 } },
      { ...head, choices: [], usage: { total_tokens: 3 }, timings: { ms: 4 }, own: [5] },
    ]),
  )
  t.match(answer, {
    system_fingerprint: 'f',
    usage: { total_tokens: 3 },
    timings: { ms: 4 },
    own: [5],
    choices: [{ message: { content: 'a', kind: 'x' }, finish_reason: 'stop', odd: 2 }],
  })
  t.notOk('usage' in body(join([part({ content: 'a' })])), 'unknown is not zero')
})

t.test('a chunk without choices is passed over (row 11)', async (t) => {
  const answer = body(
    join([{ ...head, note: 1 }, part({ content: 'a' }, { finish_reason: 'stop' })]),
  )
  t.match(answer, { note: 1, choices: [{ message: { content: 'a' } }] })
})

t.test('what is not whole is no answer', async (t) => {
  t.strictSame(join([part({ content: 'a' })], { done: false }), { ok: false, why: 'incomplete' })
  t.strictSame(join([]), { ok: false, why: 'incomplete' })
  const error = { error: { message: 'oops', code: 500 } }
  t.strictSame(join([part({ content: 'a' }), error], { done: false }), {
    ok: false,
    why: 'error',
    value: error,
  })
  const it = createJoin()
  it.feed(Buffer.from('data: {"a":\n\ndata: [DONE]\n\n'))
  t.strictSame(it.finish(), { ok: false, why: 'unreadable' })
})

t.test('names that objects inherit are fields like others', async (t) => {
  const odd = JSON.parse('{"__proto__":{"polluted":1},"constructor":"x","content":"a"}') as object
  const answer = join([part(odd, { finish_reason: 'stop' })])
  t.ok(answer.ok)
  t.notOk('polluted' in {})
})

t.test('bytes may come in any pieces', async (t) => {
  const text = `\ufeff: ping\r\n\r\ndata: ${JSON.stringify(part({ content: '日🙂' }))}\r\n\r\ndata:[DONE]`
  const bytes = Buffer.from(text)
  for (const size of [1, 2, 3, 7]) {
    const it = createJoin()
    for (let at = 0; at < bytes.length; at += size) it.feed(bytes.subarray(at, at + size))
    t.match(body(it.finish()), { choices: [{ message: { content: '日🙂' } }] }, `${size}`)
  }
})
