// Engines that fail: what the client sees, who takes over, and who is left alone for a while.
import { createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { ask, textOf } from '../support/chat-client.ts'
import type { Behaviour } from '../support/fake-engine/behaviour.ts'
import { type FakeEngine, startFakeEngine } from '../support/fake-engine/engine.ts'
import { type RouterOptions, startTestRouter } from '../support/router.ts'

async function setUp(
  t: Test,
  replicas: Readonly<Record<string, Partial<Behaviour>>>,
  options: RouterOptions = {},
) {
  const engines = new Map<string, FakeEngine>()
  for (const [replica, change] of Object.entries(replicas)) {
    engines.set(replica, await startFakeEngine(change))
  }
  const ports = Object.fromEntries([...engines].map(([replica, { port }]) => [replica, port]))
  const router = await startTestRouter({ ...options, engines: { ...ports, ...options.engines } })
  t.teardown(async () => {
    await router.close()
    await Promise.all([...engines.values()].map((it) => it.close()))
  })
  const seen = (replica: string) => engines.get(replica)?.seen.length ?? 0
  return { router, engines, seen }
}

/** A port at which nobody listens. */
const deadPort = () =>
  new Promise<number>((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })

const upstream = { error: { type: 'server_error', param: null, code: 'upstream_error' } }

t.test('before the first byte another replica takes over, unseen (RT3)', async (t) => {
  const faults: [string, Partial<Behaviour>][] = [
    ['a reset before headers (row 39)', { fault: { kind: 'reset-before-headers' } }],
    ['a reset after headers, before any chunk (row 27)', { fault: { kind: 'reset', after: 0 } }],
    ['a model that is loading (row 32)', { loading: true }],
    ['a 500', { fault: { kind: 'status', status: 500, body: '{"error":{"message":"oops"}}' } }],
    ['a 429 (row 32)', { fault: { kind: 'status', status: 429, body: '{}' } }],
    ['a key that is not ours', { key: 'another' }],
  ]
  for (const [name, change] of faults) {
    await t.test(name, async (t) => {
      const { router, seen } = await setUp(t, { bad: change, good: {} })
      for (let turn = 0; turn < 4; turn += 1) {
        for (const stream of [true, false]) {
          const { status, text } = await ask(router.url, { stream })
          t.equal(status, 200)
          t.match(text, 'world')
        }
      }
      t.equal(seen('good'), 8)
      await router.quiet()
    })
  }

  await t.test('a refused connection', async (t) => {
    const { router } = await setUp(t, { good: {} }, { engines: { bad: await deadPort() } })
    for (let turn = 0; turn < 4; turn += 1) t.equal((await ask(router.url)).status, 200)
    await router.quiet()
  })

  await t.test(
    'a plain answer that breaks off is asked for anew, as the client has nothing yet',
    async (t) => {
      const { router } = await setUp(t, { bad: { fault: { kind: 'reset', after: 2 } }, good: {} })
      for (let turn = 0; turn < 4; turn += 1) {
        t.match((await ask(router.url)).json, {
          choices: [{ message: { content: 'Hello, world!' } }],
        })
      }
      await router.quiet()
    },
  )

  await t.test(
    'a kept connection that the engine closed costs one silent try (row 35)',
    async (t) => {
      const { router, engines, seen } = await setUp(t, { only: {} })
      t.equal((await ask(router.url)).status, 200)
      engines.get('only')?.next({ fault: { kind: 'reset-before-headers' } })
      t.equal((await ask(router.url)).status, 200)
      t.equal(seen('only'), 3)
      await router.quiet()
    },
  )
})

t.test("with no other replica the client gets an error of OpenAI's shape", async (t) => {
  await t.test('nobody listens: 502', async (t) => {
    const { router } = await setUp(t, {}, { engines: { bad: await deadPort() } })
    const { status, json } = await ask(router.url)
    t.equal(status, 502)
    t.match(json, upstream)
    t.notMatch(JSON.stringify(json), '127.0.0.1', 'nothing of the inside')
  })
  await t.test('it is loading: 503 with retry-after', async (t) => {
    const { router } = await setUp(t, { bad: { loading: true } })
    const { status, headers, json } = await ask(router.url)
    t.equal(status, 503)
    t.equal(headers.get('retry-after'), '1')
    t.match(json, { error: { message: 'Loading model', param: null, code: null } })
    t.equal((await ask(router.url)).status, 503, 'and the last one is not taken out')
  })
  await t.test('there is none: 503', async (t) => {
    const { router } = await setUp(t, {})
    const { status, headers, json } = await ask(router.url)
    t.equal(status, 503)
    t.equal(headers.get('retry-after'), '1')
    t.match(json, { error: { code: 'overloaded' } })
  })
  await t.test('a draining one gets no new requests', async (t) => {
    const { router, engines, seen } = await setUp(t, { r1: {} })
    const port = engines.get('r1')?.port ?? 0
    router.route({ replica: 'r1', port, state: 'draining' })
    await delay(10)
    t.equal((await ask(router.url)).status, 503)
    t.equal(seen('r1'), 0)
  })
})

t.test('after the first byte nothing is tried again (rows 28, 29)', async (t) => {
  const faults: [string, Partial<Behaviour>][] = [
    ['reset', { paceMs: 20, fault: { kind: 'reset', after: 3 } }],
    ['regular close without the closing mark', { fault: { kind: 'close', after: 3 } }],
  ]
  for (const [name, change] of faults) {
    await t.test(`a ${name} ends the stream with an error frame and no closing mark`, async (t) => {
      const { router, seen } = await setUp(t, { a: change, b: change })
      const { status, text } = await ask(router.url, { stream: true })
      t.equal(status, 200)
      t.equal(textOf(text), 'Hello, ')
      t.match(
        text,
        /data: \{"error":\{"message":"The engine .+","type":"server_error","param":null,"code":"upstream_error"\}\}\n\n$/,
      )
      t.notMatch(text, '[DONE]')
      t.equal(seen('a') + seen('b'), 1)
      await router.quiet()
      const metrics = await (await fetch(`${router.url}/metrics`)).text()
      t.match(metrics, /llmgw_tries_failed_total\{model="fake",why="broke-off"[^}]*\} 1\n/)
    })
  }
  await t.test('an error event of the engine comes through', async (t) => {
    const { router } = await setUp(t, { a: { fault: { kind: 'error-event', after: 2 } } })
    t.match((await ask(router.url, { stream: true })).text, 'the slot failed')
    const { status, json } = await ask(router.url)
    t.equal(status, 500)
    t.match(json, { error: { message: 'the slot failed', type: 'server_error', code: null } })
    await router.quiet()
  })
})

t.test("an engine's refusal keeps status and body (rows 36, 37, 40, 41)", async (t) => {
  const { router, engines } = await setUp(t, { r1: {} })
  const answer = async (status: number, body: string, stream: boolean) => {
    engines.get('r1')?.next({ fault: { kind: 'status', status, body } })
    return await ask(router.url, { stream })
  }
  for (const stream of [true, false]) {
    const custom = await answer(403, '{"error":{"message":"no","type":"policy","hint":7}}', stream)
    t.equal(custom.status, 403)
    t.same(custom.json, {
      error: { message: 'no', type: 'policy', param: null, code: null, hint: 7 },
    })
    const bare = await answer(422, '{"error":"too odd"}', stream)
    t.equal(bare.status, 422)
    t.same(bare.json, {
      error: { message: 'too odd', type: 'invalid_request_error', param: null, code: null },
    })
    const long =
      '{"error":{"code":400,"message":"too long","type":"exceed_context_size_error","n_ctx":4}}'
    t.match((await answer(400, long, stream)).json, {
      error: { code: 'context_length_exceeded', n_ctx: 4 },
    })
    const text = await answer(400, '<html>10.0.0.7</html>', stream)
    t.equal(text.status, 400)
    t.same(text.json, {
      error: {
        message: 'The engine refused with status 400.',
        type: 'invalid_request_error',
        param: null,
        code: null,
      },
    })
  }
  await router.quiet()
})

t.test('waits end', async (t) => {
  await t.test('a replica that never answers costs its request, not others (row 44)', async (t) => {
    const { router } = await setUp(
      t,
      { hung: { fault: { kind: 'silent' } }, good: {} },
      { timeouts: { firstByteMs: 400 } },
    )
    const answers = await Promise.all(Array.from({ length: 6 }, () => ask(router.url)))
    const statuses = answers.map((it) => it.status).sort()
    t.same(statuses, [200, 200, 200, 504, 504, 504])
    t.match(answers.find((it) => it.status === 504)?.json, { error: { code: 'timeout' } })
    const next = await Promise.all(Array.from({ length: 4 }, () => ask(router.url)))
    t.ok(
      next.every((it) => it.status === 200),
      'it is left alone',
    )
  })
  await t.test('a stream that stalls ends with an error frame (row 46)', async (t) => {
    const { router, engines } = await setUp(
      t,
      { r1: { fault: { kind: 'stall', after: 3 } } },
      { timeouts: { idleMs: 300 } },
    )
    const { text } = await ask(router.url, { stream: true })
    t.match(text, /"code":"timeout"\}\}\n\n$/)
    t.equal((await ask(router.url)).status, 504)
    await engines.get('r1')?.idle()
    await router.quiet()
  })
})

t.test('headers are made anew both ways (rows 47, 49)', async (t) => {
  const { router, engines } = await setUp(t, { r1: { key: 'key-of-r1' } })
  const headers = {
    'x-conversation-id': 'c1',
    cookie: 'a=b',
    'x-forwarded-for': '1.2.3.4',
    'x-api-key': 'mine',
    'accept-encoding': 'gzip',
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  }
  t.equal((await ask(router.url, { headers, stream: true })).status, 200)
  const seen = engines.get('r1')?.seen[0]?.headers ?? {}
  t.same(Object.keys(seen).sort(), [
    'accept',
    'authorization',
    'connection',
    'content-length',
    'content-type',
    'host',
    'traceparent',
    'x-request-id',
  ])
  t.equal(seen['authorization'], 'Bearer key-of-r1', 'never the key of the client')
  const odd = { traceparent: 'caf\u00e9 \u00ff' }
  t.equal((await ask(router.url, { headers: odd })).status, 200)
  t.notOk(engines.get('r1')?.seen[1]?.headers['traceparent'], 'what is no trace is not passed on')
  const leaky = {
    location: 'http://inside/?key=key-of-r1',
    'x-key': 'key-of-r1',
    'set-cookie': 'k=1',
  }
  engines.get('r1')?.next({ fault: { kind: 'status', status: 302, body: '', headers: leaky } })
  const answer = await ask(router.url)
  t.equal(answer.status, 502)
  t.notMatch(JSON.stringify([...answer.headers]) + answer.text, /key-of-r1|inside|cookie/)
  engines.get('r1')?.next({ fault: { kind: 'status', status: 400, body: '{}', headers: leaky } })
  t.notMatch(JSON.stringify([...(await ask(router.url)).headers]), /key-of-r1|cookie/)
})

t.test('a replica that was started again on another port is found there', async (t) => {
  const { router, engines } = await setUp(t, { r1: {} })
  t.equal((await ask(router.url)).status, 200)
  const next = await startFakeEngine()
  t.teardown(() => next.close())
  await engines.get('r1')?.close()
  router.route({ replica: 'r1', port: next.port })
  await delay(10)
  t.equal((await ask(router.url)).status, 200)
  t.equal(next.seen.length, 1)
})
