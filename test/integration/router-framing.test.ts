// What a client gets of an engine's bytes: framing, UTF-8, pace, back-pressure (rows of the list of public bug reports).
import { Agent, request as httpRequest } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { ask, chatBody, head, open, textOf } from '../support/chat-client.ts'
import type { Behaviour } from '../support/fake-engine/behaviour.ts'
import { startFakeEngine } from '../support/fake-engine/engine.ts'
import { secret, startTestRouter } from '../support/router.ts'

t.test('streams and joined answers', async (t) => {
  const engine = await startFakeEngine()
  const router = await startTestRouter({ engines: { r1: engine.port } })
  t.teardown(async () => {
    await router.close()
    await engine.close()
  })
  const texts = ['日本語', ' 🙂 ', 'ü', 'ascii', '終']
  const whole = texts.join('')

  await t.test('a stream whose engine leaves the role out names it all the same', async (t) => {
    const chunk = (delta: object, finish: string | null = null) => ({
      id: 'c1',
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta, finish_reason: finish }],
    })
    const events = [chunk({ content: '🌌' }), chunk({}, 'stop')]
    for (const pieceBytes of [0, 3]) {
      engine.next({ events, pieceBytes })
      const { text } = await ask(router.url, { stream: true })
      const [first, ...rest] = text.split('\n\n')
      t.match(JSON.parse(first?.replace('data: ', '') ?? ''), {
        id: 'c1',
        choices: [{ index: 0, delta: { role: 'assistant', content: '' } }],
      })
      t.equal(textOf(rest.join('\n\n')), '🌌')
    }
  })

  const framings: [string, Partial<Behaviour>][] = [
    ['pieces of one byte (rows 1, 2)', { pieceBytes: 1 }],
    ['pieces of 4 bytes, inside characters (row 4)', { pieceBytes: 4 }],
    ['lines that end with CRLF', { lineEnd: '\r\n' }],
    ['lines that end with CRLF in pieces of 3 bytes', { lineEnd: '\r\n', pieceBytes: 3 }],
    ['lines that end with CR', { lineEnd: '\r' }],
    ['no last blank line', { withoutLastBlank: true }],
    ['an event without choices (row 11)', { oddEvent: true }],
    ['comments before the first event', { prefillMs: 60, pingMs: 15 }],
  ]
  for (const [name, change] of framings) {
    await t.test(`both forms are whole with ${name}`, async (t) => {
      engine.next({ deltas: texts, ...change }, { deltas: texts, ...change })
      const stream = await ask(router.url, { stream: true })
      t.equal(textOf(stream.text), whole)
      t.match(stream.text, /data: \[DONE\]\s*$/)
      const plain = await ask(router.url)
      t.match(plain.json, { choices: [{ message: { content: whole } }] })
    })
  }

  await t.test('a character cut at a 4 KB edge loses no event (row 3)', async (t) => {
    const deltas = ['x'.repeat(3900), ...Array.from({ length: 60 }, () => '語'.repeat(7))]
    engine.next({ deltas, pieceBytes: 4096 })
    t.equal(textOf((await ask(router.url, { stream: true })).text), deltas.join(''))
  })

  await t.test('a reasoning model that ends with the closing mark (row 5)', async (t) => {
    const choice = (delta: object, finish_reason: string | null = null) => ({
      choices: [{ index: 0, delta, finish_reason }],
    })
    const events = [choice({ reasoning_content: 'hm' }), choice({ content: 'so' }, 'stop')]
    engine.next({ events }, { events })
    t.match((await ask(router.url, { stream: true })).text, /"hm".*"so".*data: \[DONE\]\n\n$/s)
    const message = { reasoning_content: 'hm', content: 'so' }
    t.match((await ask(router.url)).json, { choices: [{ message, finish_reason: 'stop' }] })
  })

  await t.test('each delta is out at once, not held back (row 9)', async (t) => {
    engine.next({ deltas: Array.from({ length: 8 }, () => 'x'), paceMs: 50 })
    const response = await head(open(router.url))
    const gaps: number[] = []
    let last = performance.now()
    for await (const _ of response) {
      gaps.push(performance.now() - last)
      last = performance.now()
    }
    t.ok(gaps.filter((gap) => gap > 25).length >= 6, `gaps: ${gaps.map(Math.round)}`)
  })

  await t.test('headers of a stream are those that proxies need', async (t) => {
    const { headers } = await ask(router.url, { stream: true })
    t.equal(headers.get('content-type'), 'text/event-stream')
    t.equal(headers.get('cache-control'), 'no-cache')
    t.equal(headers.get('x-accel-buffering'), 'no')
    t.match(headers.get('x-request-id'), /^req_/)
  })

  await t.test('usage comes where it is asked for, once, with empty choices', async (t) => {
    const fields = { stream_options: { include_usage: true } }
    const { text } = await ask(router.url, { stream: true, fields })
    t.equal(text.match(/"usage"/g)?.length, 1)
    t.match(text, /"choices":\[\],"usage"/)
    engine.next({ withoutUsage: true })
    t.notMatch((await ask(router.url)).json, { usage: {} }, 'unknown is not zero')
  })

  await t.test('a stream of 5 MB passes (row 57)', async (t) => {
    engine.next({ deltas: Array.from({ length: 80 }, () => 'y'.repeat(65_536)) })
    t.equal(textOf((await ask(router.url, { stream: true })).text).length, 80 * 65_536)
  })

  await t.test('a client that does not read pauses the engine (row 54)', async (t) => {
    engine.next({ deltas: Array.from({ length: 3000 }, () => 'z'.repeat(65_536)) })
    const before = process.memoryUsage().arrayBuffers
    const response = await head(open(router.url))
    await delay(700)
    const sent = engine.seen.at(-1)
    t.equal(sent?.doneAt, null, 'the engine is still at it')
    const grownMb = (process.memoryUsage().arrayBuffers - before) / 1e6
    t.ok(grownMb < 30, `${grownMb.toFixed(1)} MB more in this process, engine and client included`)
    let bytes = 0
    for await (const chunk of response) bytes += (chunk as Buffer).length
    t.ok(bytes > 3000 * 65_536, 'and all of it arrives once it is read')
  })
  await router.quiet()
})

t.test('a stream that runs while the router ends', async (t) => {
  const setUp = async (t: Test) => {
    const engine = await startFakeEngine({ paceMs: 100 })
    const router = await startTestRouter({ engines: { r1: engine.port } })
    t.teardown(() => engine.close())
    const agent = new Agent({ keepAlive: true })
    const read = async (): Promise<string> => {
      const request = httpRequest(`${router.url}/v1/chat/completions`, {
        agent,
        method: 'POST',
        headers: { authorization: `Bearer ${secret}` },
      })
      request.end(chatBody({ stream: true }))
      let text = ''
      for await (const chunk of await head(request)) text += String(chunk)
      return text
    }
    return { router, read }
  }

  await t.test(
    'ends as a whole one, and so does one that its connection brings after it',
    async (t) => {
      const { router, read } = await setUp(t)
      const first = read()
      await delay(150)
      const stopped = router.stop(5000)
      t.match(await first, /\[DONE\]\n\n$/)
      t.match(await read(), /\[DONE\]\n\n$/)
      await stopped
      await router.close()
    },
  )

  await t.test(
    'ends with an error frame once its time is over, and not by a broken frame',
    async (t) => {
      const { router, read } = await setUp(t)
      const first = read()
      await delay(150)
      await router.stop(0)
      t.match(await first, /data: \{"error":.*\}\n\n$/)
      await router.close()
    },
  )
})
