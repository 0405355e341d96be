// The fake engine does what llama.cpp was seen to do, and the faults that it is asked for.
import { request as httpRequest } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { llamacpp } from '../../engines/llamacpp.ts'
import type { Behaviour } from '../support/fake-engine/behaviour.ts'
import { startFakeEngine } from '../support/fake-engine/engine.ts'
import { eventually } from '../support/own-process.ts'

async function setUp(change: Partial<Behaviour> = {}) {
  const engine = await startFakeEngine(change)
  t.teardown(() => engine.close())
  const url = `http://127.0.0.1:${engine.port}`
  const chat = (fields: object = {}, key = 'k') =>
    fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify({ messages: [], ...fields }),
    })
  const leave = async (stream: boolean, afterMs: number) => {
    const client = httpRequest(`${url}/v1/chat/completions`, { method: 'POST' })
    client.on('error', () => undefined)
    client.end(JSON.stringify({ messages: [], stream }))
    await delay(afterMs)
    client.destroy()
    return performance.now()
  }
  const load = async () => llamacpp.load(await (await fetch(`${url}/metrics`)).text())
  return { engine, url, chat, leave, load }
}

t.test('while it loads every path says so', async (t) => {
  const { engine, url, chat } = await setUp({ loading: true, alias: 'm' })
  for (const path of ['/health', '/v1/models', '/metrics', '/nothing']) {
    const answer = await fetch(`${url}${path}`)
    t.equal(answer.status, 503)
    t.match(await answer.json(), { error: { message: 'Loading model', code: 503 } })
  }
  t.equal((await chat()).status, 503)
  engine.be({ loading: false })
  t.match(await (await fetch(`${url}/v1/models`)).json(), { data: [{ id: 'm' }] })
})

t.test('it wants its key everywhere but at /health', async (t) => {
  const { url, chat } = await setUp({ key: 'k' })
  t.equal((await fetch(`${url}/health`)).status, 200)
  for (const path of ['/v1/models', '/metrics', '/slots']) {
    t.equal((await fetch(`${url}${path}`)).status, 401)
  }
  t.equal((await chat({}, 'other')).status, 401)
  t.equal((await chat()).status, 200)
})

t.test('a stream is cancelled while it decodes, not while it is in prefill', async (t) => {
  const { engine, leave, load } = await setUp({ deltas: Array(500).fill('x'), paceMs: 20 })
  let leftAt = await leave(true, 60)
  await engine.idle()
  t.ok(performance.now() - leftAt < 5000, 'half of what was left to say')
  engine.be({ prefillMs: 1000 })
  leftAt = await leave(true, 60)
  t.match(await load(), { running: 1, waiting: 0 })
  await engine.idle()
  t.ok(performance.now() - leftAt > 200)
  t.equal(engine.seen.length, 2)
})

t.test('a plain request is never cancelled', async (t) => {
  const { engine, leave } = await setUp({ deltas: Array(50).fill('x'), paceMs: 20 })
  const leftAt = await leave(false, 60)
  await eventually('it is seen', () => engine.seen[0]?.leftAt)
  await engine.idle()
  t.ok(performance.now() - leftAt > 200)
})

t.test('who waits for a slot is not dropped when its client leaves', async (t) => {
  const { engine, chat, leave, load } = await setUp({ slots: 1, prefillMs: 200 })
  const first = chat({ stream: true })
  await eventually('it runs', () => engine.running === 1)
  await leave(true, 50)
  t.match(await load(), { running: 1, waiting: 1 })
  await (await first).text()
  await engine.idle()
})

t.test('it obeys and tells over HTTP too', async (t) => {
  const { url, chat } = await setUp()
  await fetch(`${url}/control`, { method: 'POST', body: JSON.stringify({ deltas: ['new'] }) })
  t.match(await (await chat()).json(), { choices: [{ message: { content: 'new' } }] })
  t.match(await (await fetch(`${url}/control`)).json(), { seen: [{ method: 'POST' }], running: 0 })
  t.match(await (await fetch(`${url}/slots`)).json(), [{ id: 0, is_processing: false }])
})
