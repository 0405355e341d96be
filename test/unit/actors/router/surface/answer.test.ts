// Answers and errors in OpenAI's shape.
import t from 'tap'
import {
  engineErrorAnswer,
  errorAnswer,
  errorFrame,
  modelsAnswer,
  parseJson,
} from '../../../../../actors/router/surface/answer.ts'
import { failure } from '../../../../../kernel/errors.ts'

t.test('an error has status, four keys, and retry-after where it passes (RT5)', async (t) => {
  const answer = errorAnswer(failure('LLMGW_NO_REPLICA', { model: 'm' }))
  t.equal(answer.status, 503)
  t.same(answer.headers, [
    ['content-type', 'application/json'],
    ['retry-after', '1'],
  ])
  t.same(JSON.parse(String(answer.body)), {
    error: {
      message: 'No replica of "m" is ready. Try again in a moment.',
      type: 'server_error',
      param: null,
      code: 'overloaded',
    },
  })
  t.match(errorAnswer(failure('LLMGW_INVALID_REQUEST', { problem: 'p' }), 'model'), {
    headers: [['content-type', 'application/json']],
    body: /"param":"model"/,
  })
})

t.test('a frame that ends a stream is one event, whatever stands before it', async (t) => {
  const answer = errorAnswer(failure('LLMGW_ENGINE_BROKE_OFF', { model: 'm' }))
  const frame = /^\ndata: \{"error":.*\}\n\n$/
  t.match(errorFrame(answer, true), frame)
  t.match(errorFrame(answer, false).slice(1), frame)
})

t.test("models are a list in OpenAI's shape", async (t) => {
  t.same(JSON.parse(String(modelsAnswer([{ model: 'm', created: 5 }]).body)), {
    object: 'list',
    data: [{ id: 'm', object: 'model', created: 5, owned_by: 'llmgw' }],
  })
})

t.test("an engine's error is put into the shape, whatever it was", async (t) => {
  const none = { param: null, code: null }
  const cases: [status: number, body: unknown, error: object][] = [
    [
      400,
      { error: { message: 'm', type: 't', param: 'p', code: 'c' } },
      { message: 'm', type: 't', param: 'p', code: 'c' },
    ],
    [
      400,
      { error: { message: 'm', code: 400 } },
      { message: 'm', type: 'invalid_request_error', ...none },
    ],
    [422, { error: 'bare' }, { message: 'bare', type: 'invalid_request_error', ...none }],
    [
      404,
      { detail: 'Not Found' },
      { message: 'Not Found', type: 'invalid_request_error', ...none },
    ],
    [500, { message: 'm', type: 'x' }, { message: 'm', type: 'server_error', ...none }],
    [
      500,
      ['odd'],
      { message: 'The engine refused with status 500.', type: 'server_error', ...none },
    ],
    [
      500,
      undefined,
      { message: 'The engine refused with status 500.', type: 'server_error', ...none },
    ],
    [
      400,
      { error: { message: 7 } },
      { message: 'The engine refused with status 400.', type: 'invalid_request_error', ...none },
    ],
  ]
  for (const [status, body, error] of cases) {
    const answer = engineErrorAnswer(status, body, null)
    t.equal(answer.status, status)
    t.same(JSON.parse(String(answer.body)), { error })
  }
  t.same(engineErrorAnswer(429, {}, '7').headers[1], ['retry-after', '7'])
  t.same(engineErrorAnswer(429, {}, 'key=1').headers[1], ['retry-after', '1'])
  t.same(engineErrorAnswer(503, {}, null).headers[1], ['retry-after', '1'])
})

t.test('bytes that are no JSON are undefined', async (t) => {
  t.equal(parseJson(Buffer.from('<html>')), undefined)
  t.same(parseJson(Buffer.from('{"a":1}')), { a: 1 })
})
