// The first event of a stream names the role, whatever the engine sends and however it is cut.
import t from 'tap'
import { createOpening } from '../../../../../actors/router/surface/opening.ts'

const head = { id: 'c1', object: 'chat.completion.chunk', created: 7, model: 'm' }
const event = (delta: object, more: object = {}) =>
  `data: ${JSON.stringify({ ...head, choices: [{ index: 0, delta, finish_reason: null }], ...more })}\n\n`

/** What passes of a stream that comes in pieces of so many bytes. */
function opened(stream: string, { choices = 1, pieceBytes = 1e6 } = {}): string {
  const opening = createOpening(choices)
  const bytes = Buffer.from(stream)
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    const passed = opening.push(bytes.subarray(at, at + pieceBytes))
    if (passed === null) continue
    const rest = bytes.subarray(Math.min(bytes.length, at + pieceBytes))
    return Buffer.concat([passed, rest]).toString()
  }
  return ''
}

const roleEvent = (indexes: number[]) =>
  `data: ${JSON.stringify({
    ...head,
    choices: indexes.map((index) => ({
      index,
      delta: { role: 'assistant', content: '' },
      finish_reason: null,
    })),
  })}\n\n`

t.test('a stream that names its role passes as it is', async (t) => {
  const stream = event({ role: 'assistant', content: null }) + event({ content: 'a' })
  for (const pieceBytes of [1, 7, 1e6]) t.equal(opened(stream, { pieceBytes }), stream)
})

t.test('a role that is missing is put in before the first event', async (t) => {
  const stream = event({ content: '🌌' }) + event({ content: 'a' })
  for (const pieceBytes of [1, 7, 1e6]) {
    t.equal(opened(stream, { pieceBytes }), roleEvent([0]) + stream)
  }
})

t.test(
  'each of several choices gets its role; counts and times stay with their event',
  async (t) => {
    const stream = event({ content: 'a' }, { usage: { total_tokens: 1 }, timings: {} })
    t.equal(opened(stream, { choices: 2 }), roleEvent([0, 1]) + stream)
  },
)

t.test('comments, errors and whatever else is no chunk of a chat pass as they are', async (t) => {
  for (const stream of [
    'data: [DONE]\n\n',
    'data: {"error":{"message":"no"}}\n\n',
    'data: {"choices":[]}\n\n',
    'data: {"choices":[null]}\n\n'.replace('[null]', '"x"'),
    'data: null\n\n',
    'data: 7\n\n',
  ]) {
    t.equal(opened(stream), stream)
  }
  const commented = `: ping\n\n${event({ role: 'assistant' })}`
  t.equal(opened(commented, { pieceBytes: 3 }), commented)
})

t.test('what never makes an event is not kept for ever', async (t) => {
  const stream = `data: ${'x'.repeat(100_000)}`
  t.equal(opened(stream, { pieceBytes: 1000 }), stream)
})
