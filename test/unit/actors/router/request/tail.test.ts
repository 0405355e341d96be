// The closing mark of a stream, however it is cut.
import t from 'tap'
import { Tail } from '../../../../../actors/router/request/tail.ts'

const isDone = (...chunks: string[]): boolean => {
  const tail = new Tail()
  for (const chunk of chunks) tail.push(Buffer.from(chunk))
  return tail.isDone
}

t.test('the closing mark is known in every framing and however it is cut', async (t) => {
  for (const end of [
    'data: [DONE]\n\n',
    'data:[DONE]\n\n',
    'data: [DONE]',
    'data: [DONE]\r\n\r\n',
    'data: [DONE]\r\r',
  ]) {
    t.ok(isDone(`data: {"a":1}\n\n${end}`), end)
    t.ok(isDone(...end), 'byte by byte')
    t.ok(isDone('data: {"a":', '1}\n', '\n', end.slice(0, 5), end.slice(5)))
  }
})

t.test('text that only looks like it is not', async (t) => {
  for (const text of [
    '',
    'data: {"a":"data: [DONE]"}\n\n',
    'x data: [DONE]\n\n',
    'data: [DONE',
    'data: [DONE]\n\ndata: {}\n\n',
  ]) {
    t.notOk(isDone(text), text)
  }
})
