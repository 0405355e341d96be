// Bodies as they arrive: kept, refused, given back.
import t from 'tap'
import { type BodyEnd, collectBody } from '../../../../../actors/router/request/body.ts'
import { Buffers } from '../../../../../actors/router/request/buffers.ts'
import type { Exchange } from '../../../../../actors/router/request/ports.ts'

function upload(declared: string, limitBytes = 10, buffers = new Buffers(20)) {
  let listener: (chunk: Uint8Array, last: boolean) => void = () => undefined
  const exchange = {
    header: () => declared,
    onBody(it: typeof listener) {
      listener = it
    },
  } as unknown as Exchange
  const ends: BodyEnd[] = []
  const it = collectBody(exchange, limitBytes, buffers, (end) => ends.push(end))
  const push = (text: string, last = false) => {
    const chunk = Buffer.from(text)
    listener(chunk, last)
    chunk.fill(0) // it is valid only during the call
  }
  return { push, ends, buffers, drop: it.drop }
}

const textOf = (end: BodyEnd | undefined) => end?.ok && Buffer.from(end.body).toString()

t.test('a body is kept with and without a declared length', async (t) => {
  for (const declared of ['6', '']) {
    const { push, ends, buffers } = upload(declared)
    push('abc')
    push('def', true)
    t.equal(textOf(ends[0]), 'abcdef')
    t.match(ends, [{ ok: true, heldBytes: 6 }])
    t.equal(buffers.usedBytes, 6, 'held until its taker gives it back')
  }
})

t.test('one that is too long is refused once, and nothing stays held', async (t) => {
  for (const declared of ['11', '']) {
    const { push, ends, buffers } = upload(declared)
    push('123456')
    push('789012')
    push('3', true)
    t.strictSame(ends, [{ ok: false, code: 'LLMGW_BODY_TOO_LARGE' }])
    t.equal(buffers.usedBytes, 0)
  }
})

t.test('one for which there is no room is refused, and nothing stays held', async (t) => {
  for (const declared of ['9', '']) {
    const buffers = new Buffers(20)
    buffers.take(13)
    const { push, ends } = upload(declared, 10, buffers)
    push('12345')
    push('6789', true)
    t.strictSame(ends, [{ ok: false, code: 'LLMGW_BUFFERS_FULL' }])
    t.equal(buffers.usedBytes, 13)
  }
})

t.test('a client that leaves gives back what it held', async (t) => {
  const { push, ends, buffers, drop } = upload('9')
  push('12345')
  t.equal(buffers.usedBytes, 9)
  drop()
  push('6789', true)
  t.equal(buffers.usedBytes, 0)
  t.strictSame(ends, [])
})
