// Requests that are refused: each with a status and an error that the openai client types, and with nothing left behind.
import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import OpenAI from 'openai'
import t from 'tap'
import { ask, chatBody, open } from '../support/chat-client.ts'
import { startFakeEngine } from '../support/fake-engine/engine.ts'
import { eventually } from '../support/own-process.ts'
import { secret, startTestRouter } from '../support/router.ts'

/** What the client throws. */
const thrown = (request: Promise<unknown>): Promise<unknown> =>
  request.then(
    () => null,
    (error: unknown) => error,
  )

const chat = { model: 'fake', messages: [{ role: 'user' as const, content: 'Hi' }] }

t.test('the endpoint refuses', async (t) => {
  const engine = await startFakeEngine({ key: 'key-of-r1' })
  const router = await startTestRouter({ engines: { r1: engine.port } })
  t.teardown(async () => {
    await router.close()
    await engine.close()
  })
  const baseURL = `${router.url}/v1`
  const client = new OpenAI({ apiKey: secret, baseURL, maxRetries: 0 })

  await t.test('a wrong key, as AuthenticationError', async (t) => {
    const stranger = new OpenAI({ apiKey: 'sk-wrong', baseURL, maxRetries: 0 })
    const error = await thrown(stranger.chat.completions.create(chat))
    t.ok(error instanceof OpenAI.AuthenticationError)
    t.match(error, { status: 401, code: 'invalid_api_key' })
    t.ok((await thrown(stranger.models.list())) instanceof OpenAI.AuthenticationError)
    const bare = await fetch(`${baseURL}/models`)
    t.equal(bare.status, 401)
    t.match(bare.headers.get('x-request-id'), /^req_/)
  })

  await t.test('a model that is not there, as NotFoundError', async (t) => {
    const error = await thrown(client.chat.completions.create({ ...chat, model: 'other' }))
    t.ok(error instanceof OpenAI.NotFoundError)
    t.match(error, { status: 404, code: 'model_not_found', param: 'model' })
    t.ok((await thrown(client.models.retrieve('other'))) instanceof OpenAI.NotFoundError)
  })

  await t.test('what is no chat, as BadRequestError, naming the field', async (t) => {
    const bodies: [string | Buffer, string | null][] = [
      ['{', null],
      ['[]', null],
      ['null', null],
      [Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]), null],
      ['', null],
      ['{"messages":[]}', 'model'],
      ['{"model":7,"messages":[]}', 'model'],
      ['{"model":"fake"}', 'messages'],
      ['{"model":"fake","messages":"hi"}', 'messages'],
      ['{"model":"fake","messages":[],"stream":"yes"}', 'stream'],
    ]
    for (const [body, param] of bodies) {
      const { status, json } = await ask(router.url, { body })
      t.equal(status, 400)
      t.match(json, { error: { type: 'invalid_request_error', param, code: null } })
      t.same(Object.keys((json as { error: object }).error), ['message', 'type', 'param', 'code'])
    }
    const wrong = { model: 'fake' } as typeof chat
    const error = await thrown(client.chat.completions.create(wrong))
    t.ok(error instanceof OpenAI.BadRequestError)
    t.match(error, { status: 400, param: 'messages' })
  })

  await t.test('what nests so deep that an engine may die of it', async (t) => {
    const nested = (levels: number) =>
      `{"model":"fake","stream":false,"messages":${'['.repeat(levels)}"["${']'.repeat(levels)}}`
    t.equal((await ask(router.url, { body: nested(499) })).status, 200)
    const { status, json } = await ask(router.url, { body: nested(50_000) })
    t.equal(status, 400)
    t.match(json, { error: { message: /nests deeper than 500 levels/, param: null } })
  })

  await t.test('unknown paths with 404 and wrong methods with 405', async (t) => {
    const call = async (method: string, path: string) => {
      const answer = await fetch(`${router.url}${path}`, {
        method,
        headers: { authorization: `Bearer ${secret}` },
      })
      return {
        status: answer.status,
        allow: answer.headers.get('allow'),
        text: await answer.text(),
      }
    }
    t.match(await call('GET', '/v1/nothing'), { status: 404, text: /"code":"not_found"/ })
    t.match(await call('GET', '/v1/models/%E0%A4%A'), { status: 404 })
    t.match(await call('GET', '/v1/chat/completions'), { status: 405, allow: 'POST' })
    t.match(await call('DELETE', '/v1/models'), { status: 405, allow: 'GET' })
    t.match(await call('HEAD', '/v1/models'), { status: 200, text: '' })
    t.match(await call('HEAD', '/healthz'), { status: 200, text: '' })
    t.match(await call('HEAD', '/v1/chat/completions'), { status: 405, allow: 'POST', text: '' })
    for (const path of ['/models', '/v1/v1/models', '//v1/models/', '/v1//models?x=1']) {
      t.match(await call('GET', path), { status: 200 }, path)
    }
  })

  await t.test('headers of more than 16 KiB, and no smaller ones', async (t) => {
    const call = (bytes: number) =>
      fetch(`${router.url}/healthz`, { headers: { 'x-large': 'x'.repeat(bytes) } })
    t.equal((await call(15_000)).status, 200)
    t.equal((await call(17_000)).status, 431)
  })

  await t.test('a malformed request leaves nothing behind (row 58)', async (t) => {
    await ask(router.url, { body: '{' })
    t.equal(router.now.held, 0)
    t.equal((await ask(router.url)).status, 200)
    t.equal(router.now.held, 0, 'a hold has ended when its answer is there (row 61)')
  })

  await t.test('health, readiness and metrics need no key', async (t) => {
    for (const path of ['/healthz', '/readyz', '/metrics']) {
      t.equal((await fetch(`${router.url}${path}`)).status, 200)
    }
    const { text } = await ask(router.url, { fields: { model: 'evil"name' } })
    t.match(text, 'model_not_found')
    const metrics = await (await fetch(`${router.url}/metrics`)).text()
    t.match(metrics, /llmgw_requests_total\{status="200",model="fake"/)
    t.match(metrics, /llmgw_first_byte_seconds_count\{[^}]*model="fake"/)
    t.notMatch(metrics, 'evil', 'what users send is no label')
  })
  await router.quiet()
})

t.test('a crash of the keepers of table and keys is not noticed by requests', async (t) => {
  const engine = await startFakeEngine()
  const router = await startTestRouter({ engines: { r1: engine.port } })
  t.teardown(async () => {
    await router.close()
    await engine.close()
  })
  const broken = { type: 'listed', entries: null, revision: 9 } as unknown
  router.mirrored(broken as Parameters<typeof router.mirrored>[0])
  await delay(20)
  t.equal((await ask(router.url)).status, 200)
  await delay(300) // both have been started again and know nothing yet
  t.equal((await ask(router.url)).status, 200)
  t.equal((await fetch(`${router.url}/readyz`)).status, 200)
  await router.quiet()
})

t.test('sizes are bounded', async (t) => {
  const engine = await startFakeEngine()
  const router = await startTestRouter({
    engines: { r1: engine.port },
    limits: { bodyBytes: 3 << 20, bufferedBytes: 8 << 20 },
  })
  t.teardown(async () => {
    await router.close()
    await engine.close()
  })
  const image = (bytes: number) => chatBody({ image: 'x'.repeat(bytes) })

  await t.test('a body of 2 MB passes (row 51)', async (t) => {
    t.equal((await ask(router.url, { body: image(2 << 20) })).status, 200)
    t.equal(
      engine.seen.at(-1)?.body.length,
      image(2 << 20).length + '"stream":true,"stream_options":{"include_usage":true},'.length,
    )
  })

  await t.test('a larger one is refused with the limit named (row 52)', async (t) => {
    const { status, json, headers } = await ask(router.url, { body: image(4 << 20) })
    t.equal(status, 413)
    t.match(json, { error: { message: /larger than 3145728 bytes/, code: 'request_too_large' } })
    t.match(headers.get('x-request-id'), /^req_/)
    const client = new OpenAI({ apiKey: secret, baseURL: `${router.url}/v1`, maxRetries: 0 })
    const content = 'x'.repeat(20 << 20)
    const messages = [{ role: 'user' as const, content }]
    t.match(await thrown(client.chat.completions.create({ ...chat, messages })), { status: 413 })
  })

  await t.test('a name that nobody has is not repeated whole', async (t) => {
    const { status, text } = await ask(router.url, { fields: { model: 'x'.repeat(1 << 20) } })
    t.equal(status, 404)
    t.ok(text.length < 1000, `${text.length} bytes`)
  })

  await t.test('one without a declared length too', async (t) => {
    let sent = 0
    const body = new ReadableStream({
      pull(controller) {
        sent += 1
        if (sent > 64) controller.close()
        else controller.enqueue(new Uint8Array(65_536).fill(32))
      },
    })
    const answer = await fetch(`${router.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}` },
      body,
      duplex: 'half',
    } as RequestInit)
    t.equal(answer.status, 413)
  })

  await t.test('who goes on uploading reads the refusal and keeps its connection', async (t) => {
    const socket = connect(Number(new URL(router.url).port), '127.0.0.1')
    t.teardown(() => socket.destroy())
    let text = ''
    socket.setEncoding('latin1').on('data', (part) => {
      text += part
    })
    const write = (part: string | Buffer): Promise<void> =>
      new Promise((done, fail) => {
        socket.write(part, (error) => (error ? fail(error) : done()))
      })
    const chunk = Buffer.from(`10000\r\n${' '.repeat(65_536)}\r\n`)
    const host = `host: x\r\nauthorization: Bearer ${secret}\r\n`
    await write(`POST /v1/chat/completions HTTP/1.1\r\n${host}transfer-encoding: chunked\r\n\r\n`)
    while (text === '') await write(chunk).then(() => new Promise(setImmediate))
    t.match(text, /^HTTP\/1\.1 413 /)
    for (let count = 0; count < 100; count += 1) await write(chunk)
    await write(`0\r\n\r\nGET /v1/models HTTP/1.1\r\n${host}\r\n`)
    await eventually('the next request is answered', () => /HTTP\/1\.1 200 /.test(text))
    t.equal(router.now.bufferedBytes, 0)
  })

  await t.test('all together too: 503 at the cap (row 53)', async (t) => {
    engine.be({ prefillMs: 400 })
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => ask(router.url, { body: image(1 << 20) })),
    )
    const refused = answers.filter((it) => it.status === 503)
    t.equal(answers.filter((it) => it.status === 200).length, 7)
    t.equal(refused.length, 5)
    t.equal(refused[0]?.headers.get('retry-after'), '1')
    t.match(refused[0]?.json, { error: { message: /holds as many bytes/ } })
    engine.be({ prefillMs: 0 })
    t.equal((await ask(router.url)).status, 200)
  })

  await t.test('a client that leaves in its upload gives back what it held', async (t) => {
    const client = open(router.url, { body: image(1 << 20) })
    const slow = open(router.url, { body: '' })
    slow.destroy()
    client.destroy()
    await router.quiet()
    t.equal(router.now.bufferedBytes, 0)
  })

  await t.test('a joined answer counts as well', async (t) => {
    engine.next({ deltas: Array.from({ length: 200 }, () => 'x'.repeat(65_536)) })
    t.equal((await ask(router.url)).status, 503)
    await eventually('the engine was told', () => engine.running === 0)
  })
  await delay(10)
  await router.quiet()
})
