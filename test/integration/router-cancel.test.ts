// Clients that leave, in every phase: the engine is told at once, and nothing is left behind.
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { ask, head, open } from '../support/chat-client.ts'
import type { FakeEngine } from '../support/fake-engine/engine.ts'
import { startFakeEngine } from '../support/fake-engine/engine.ts'
import { eventually } from '../support/own-process.ts'
import { startTestRouter, type TestRouter } from '../support/router.ts'

async function setUp(change: Parameters<typeof startFakeEngine>[0] = {}) {
  const engine = await startFakeEngine(change)
  const router = await startTestRouter({ engines: { r1: engine.port } })
  t.teardown(async () => {
    await router.close()
    await engine.close()
  })
  return { engine, router }
}

const ghosts = (router: TestRouter) => router.now.seats.at('r1').ghosts.length
const latest = (engine: FakeEngine) => engine.seen.at(-1)

/** An engine sees within this that a client has left; a test fails at ten times as long. */
const aimMs = 100

/** Milliseconds from `leave` to the engine's noticing. */
async function noticed(engine: FakeEngine, leave: () => void): Promise<number> {
  const at = performance.now()
  leave()
  const leftAt = await eventually('the engine sees it', () => latest(engine)?.leftAt ?? false)
  return leftAt - at
}

/** The different values of `look` while the engine has one request in that state. */
async function whileIn<T>(
  engine: FakeEngine,
  state: 'running' | 'waiting',
  look: () => T,
): Promise<T[]> {
  const seen = new Set<T>()
  while (engine[state] === 1) {
    seen.add(look())
    await delay(10)
  }
  return [...seen]
}

t.test('a client that leaves is seen by the engine within 100 ms (RT4)', async (t) => {
  const { engine, router } = await setUp()
  const phases: [string, boolean, object][] = [
    ['mid-stream (row 12)', true, { paceMs: 50, deltas: Array.from({ length: 100 }, () => 'x') }],
    ['plain, while the answer comes (row 13)', false, { paceMs: 50, deltas: Array(100).fill('x') }],
    ['before the first chunk (row 14)', true, { prefillMs: 400 }],
    ['plain, before the first chunk', false, { prefillMs: 400 }],
    ['while the engine is silent', true, { fault: { kind: 'silent' } }],
    ['while a stream has stalled', true, { fault: { kind: 'stall', after: 2 } }],
  ]
  for (const [name, stream, behaviour] of phases) {
    await t.test(name, async (t) => {
      engine.next(behaviour)
      const count = engine.seen.length
      const client = open(router.url, { stream })
      await eventually('the engine has it', () => engine.seen.length > count)
      await delay(120)
      const tookMs = await noticed(engine, () => client.destroy())
      t.comment(`noticed after ${tookMs.toFixed(1)} ms (aimed: ${aimMs} ms)`)
      t.ok(tookMs < 10 * aimMs)
      t.equal(router.now.held, 0, 'its hold has ended')
      await engine.idle()
      await router.quiet()
    })
  }
})

t.test('a plain request is asked for as a stream, so that llama.cpp can be told', async (t) => {
  const { engine, router } = await setUp()
  await ask(router.url, { body: '{"messages":[],"model":"fake","seed":12345678901234567890}' })
  t.equal(
    latest(engine)?.body,
    '{"stream":true,"stream_options":{"include_usage":true},"messages":[],"model":"fake","seed":12345678901234567890}',
    'and every other byte is as it was sent',
  )
  const streamed = '{ "stream" : true, "model":"fake","messages":[],  "x":1.50 }'
  await ask(router.url, { body: streamed })
  t.equal(latest(engine)?.body, streamed)
  await router.quiet()
})

t.test('a cancel during prefill leaves a ghost until the engine is free of it', async (t) => {
  const { engine, router } = await setUp({ slots: 1 })
  await t.test('and not longer', async (t) => {
    engine.next({ prefillMs: 900 })
    const client = open(router.url)
    await eventually('it is in prefill', () => engine.running === 1)
    client.destroy()
    await eventually('it is a ghost', () => ghosts(router) === 1)
    t.same(await whileIn(engine, 'running', () => ghosts(router)), [1])
    await eventually('it is over', () => ghosts(router) === 0)
    await router.quiet()
  })

  await t.test('also while another of this router waits behind it', async (t) => {
    engine.next({ prefillMs: 1200 }, { paceMs: 100, deltas: Array(200).fill('x') })
    const client = open(router.url)
    await eventually('it is in prefill', () => engine.running === 1)
    client.destroy()
    const second = open(router.url)
    const answered = head(second)
    await eventually('the second waits', () => engine.waiting === 1)
    t.same(await whileIn(engine, 'waiting', () => ghosts(router)), [1])
    await answered
    await eventually('it is over while the second streams', () => ghosts(router) === 0)
    t.equal(engine.running, 1, 'the second is still at work')
    second.destroy()
    await router.quiet()
    await engine.idle()
  })

  await t.test('a cancel after the first chunk leaves none', async (t) => {
    engine.next({ paceMs: 50, deltas: Array(20).fill('x') })
    const client = open(router.url)
    const response = await head(client)
    await new Promise((resolve) => response.once('data', resolve))
    client.destroy()
    await eventually('its hold has ended', () => router.now.held === 0)
    t.equal(ghosts(router), 0)
    await router.quiet()
    await engine.idle()
  })

  await t.test('ghosts are load, in the report too', async (t) => {
    engine.next({ prefillMs: 1500 })
    const client = open(router.url)
    await eventually('it is in prefill', () => engine.running === 1)
    client.destroy()
    await eventually('it is a ghost', () => ghosts(router) === 1)
    const from = router.reports.length
    await eventually('it is reported', () =>
      router.reports.slice(from).some((it) => it['r1'] === 1),
    )
    t.pass()
    await router.quiet()
  })
})

t.test(
  '1,000 clients that leave in all phases leave every counter at zero (rows 15, 59, 62)',
  async (t) => {
    const { engine, router } = await setUp({
      slots: 8,
      prefillMs: 15,
      paceMs: 3,
      deltas: Array.from({ length: 10 }, () => 'word '),
    })
    let seed = 1
    const random = () => {
      seed = (seed * 48_271) % 2_147_483_647
      return seed / 2_147_483_647
    }
    const leave = async (turn: number): Promise<void> => {
      const client = open(router.url, { stream: turn % 2 === 0 })
      client.on('response', (response) => response.on('error', () => undefined).resume())
      await delay(random() * 90)
      client.destroy()
    }
    for (let round = 0; round < 20; round += 1) {
      await Promise.all(Array.from({ length: 50 }, (_, index) => leave(round * 50 + index)))
    }
    await engine.idle()
    await router.quiet(10_000)
    t.same(
      { held: router.now.held, running: router.now.running, bytes: router.now.bufferedBytes },
      { held: 0, running: 0, bytes: 0 },
    )
    const metrics = await (await fetch(`${router.url}/metrics`)).text()
    t.match(metrics, /llmgw_requests_in_flight\{[^}]*\} 0\n/)
    t.match(metrics, /llmgw_replica_requests\{replica="r1"[^}]*\} 0\n/)
    t.match(metrics, /llmgw_replica_ghosts\{replica="r1"[^}]*\} 0\n/)
    t.match(metrics, /llmgw_buffered_bytes\{[^}]*\} 0\n/)
    t.equal(
      (await ask(router.url)).status,
      200,
      "the breaker is not opened on the clients' account",
    )
  },
)
