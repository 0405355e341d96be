// Long silences: what engine and client may be silent for without being cut off, and what keeps a waiting stream alive.
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { ask, chatBody, textOf } from '../support/chat-client.ts'
import type { Behaviour } from '../support/fake-engine/behaviour.ts'
import { startFakeEngine } from '../support/fake-engine/engine.ts'
import { eventually } from '../support/own-process.ts'
import { secret, startTestRouter } from '../support/router.ts'

async function setUp(t: Test, change: Partial<Behaviour>) {
  const engine = await startFakeEngine(change)
  const router = await startTestRouter({ engines: { r1: engine.port } })
  t.teardown(async () => {
    await router.close()
    await engine.close()
  })
  return { engine, router }
}

/** A client that reads and writes only when it is told to. */
function connectTo(url: string): Socket {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.on('error', () => undefined)
  return socket
}

const headOf = (framing: string): string =>
  `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${secret}\r\nconnection: close\r\n${framing}\r\n\r\n`

async function readAll(socket: Socket): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of socket) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

const isWhole = (text: string): boolean => text.includes('data: [DONE]')
const pings = (text: string): number => text.split('\n').filter((it) => it === ': ping').length

t.setTimeout(60_000)

t.test(
  'nobody is cut off for a silence within the limits',
  { timeout: 60_000, jobs: 8 },
  async (t) => {
    const cases: [string, (t: Test) => Promise<void>][] = [
      [
        'an engine that says nothing for 25 s before its stream',
        async (t) => {
          const { router } = await setUp(t, { prefillMs: 25_000 })
          const { status, text } = await ask(router.url, { stream: true })
          t.equal(status, 200)
          t.equal(textOf(text), 'Hello, world!')
          t.equal(pings(text), 2, 'and its client hears that it is waited for')
          await router.quiet()
        },
      ],
      [
        'an engine that says nothing for 25 s before a plain answer',
        async (t) => {
          const { router } = await setUp(t, { prefillMs: 25_000 })
          t.match((await ask(router.url)).json, {
            choices: [{ message: { content: 'Hello, world!' } }],
          })
          await router.quiet()
        },
      ],
      [
        'an engine that pauses for 15 s between chunks',
        async (t) => {
          const { router } = await setUp(t, { paceMs: 15_000, deltas: ['a'] })
          const { text } = await ask(router.url, { stream: true })
          t.match(text, /"finish_reason":"stop"/)
          t.ok(isWhole(text), 'to its end')
          t.equal(pings(text), 2)
          await router.quiet()
        },
      ],
      [
        'a client that reads nothing for 15 s, in a stream that goes on slowly after it',
        async (t) => {
          const deltas = Array.from({ length: 200 }, () => 'x'.repeat(100_000))
          const { engine, router } = await setUp(t, { deltas })
          const body = chatBody({ stream: true })
          const socket = connectTo(router.url)
          socket.write(`${headOf(`content-length: ${body.length}`)}${body}`)
          await delay(500)
          t.equal(engine.running, 1, 'the engine is held back')
          await delay(14_500)
          const text = await readAll(socket)
          t.ok(isWhole(text), 'to its end')
          t.equal(text.split('x'.repeat(1000)).length - 1 > 19_000, true)
          await router.quiet()
        },
      ],
      [
        'a client that reads nothing for 15 s at the end of its stream',
        async (t) => {
          const deltas = Array.from({ length: 60 }, () => 'x'.repeat(100_000))
          const { engine, router } = await setUp(t, { deltas })
          const body = chatBody({ stream: true })
          const socket = connectTo(router.url)
          socket.write(`${headOf(`content-length: ${body.length}`)}${body}`)
          await delay(15_000)
          const text = await readAll(socket)
          t.ok(isWhole(text), 'to its end')
          t.equal(engine.running, 0)
          await router.quiet()
        },
      ],
      [
        'a client that reads nothing for 15 s of a stream of small chunks',
        async (t) => {
          const { router } = await setUp(t, {
            deltas: Array.from({ length: 32_000 }, () => 'x'.repeat(400)),
            fault: { kind: 'stall', after: 30_000 },
          })
          const body = chatBody({ stream: true })
          const socket = connectTo(router.url)
          socket.write(`${headOf(`content-length: ${body.length}`)}${body}`)
          await delay(15_000)
          let bytes = 0
          socket.on('data', (data: Buffer) => {
            bytes += data.length
          })
          await eventually('it has all, though nothing more is written', () => bytes > 17_000_000)
          t.pass('it has all that was sent')
          socket.destroy()
          await router.quiet()
        },
      ],
      [
        'a client that reads nothing for a while of a stream that then stalls',
        async (t) => {
          const { router } = await setUp(t, {
            deltas: Array.from({ length: 400 }, () => 'x'.repeat(50_000)),
            fault: { kind: 'stall', after: 301 },
          })
          const body = chatBody({ stream: true })
          const socket = connectTo(router.url)
          socket.write(`${headOf(`content-length: ${body.length}`)}${body}`)
          await delay(1000)
          let bytes = 0
          socket.on('data', (data: Buffer) => {
            bytes += data.length
          })
          await eventually('it has all that was sent', () => bytes > 300 * 50_000)
          t.pass('it has all that was sent')
          socket.destroy()
          await router.quiet()
        },
      ],
      [
        'an engine that breaks off after 12 s without content: another takes over',
        async (t) => {
          const { engine, router } = await setUp(t, {})
          engine.next({ prefillMs: 12_000, fault: { kind: 'reset', after: 0 } })
          const { status, text } = await ask(router.url, { stream: true })
          t.equal(status, 200)
          t.equal(textOf(text), 'Hello, world!')
          t.ok(isWhole(text))
          await router.quiet()
        },
      ],
      [
        'an engine that refuses after 12 s: its error ends the stream',
        async (t) => {
          const body = '{"error":{"message":"too long","type":"invalid_request_error"}}'
          const { router } = await setUp(t, {
            prefillMs: 12_000,
            fault: { kind: 'status', status: 400, body },
          })
          const { status, text } = await ask(router.url, { stream: true })
          t.equal(status, 200, 'it was sent with the first comment')
          t.match(text, /^: ping\n\ndata: \{"error":\{"message":"too long".*\}\}\n\n$/)
          await router.quiet()
        },
      ],
      [
        'a client whose upload pauses for 15 s',
        async (t) => {
          const { router } = await setUp(t, {})
          const body = chatBody()
          const socket = connectTo(router.url)
          socket.write(`${headOf(`content-length: ${body.length}`)}${body.slice(0, 10)}`)
          await delay(15_000)
          socket.write(body.slice(10))
          t.match(await readAll(socket), /^HTTP\/1.1 200 /)
          await router.quiet()
        },
      ],
      [
        'a client that uploads 4 KB a second, in chunks',
        async (t) => {
          const { router } = await setUp(t, {})
          const socket = connectTo(router.url)
          socket.write(headOf('transfer-encoding: chunked'))
          const body = chatBody({ image: 'x'.repeat(60_000) })
          for (let at = 0; at < body.length; at += 4000) {
            const piece = body.slice(at, at + 4000)
            socket.write(`${piece.length.toString(16)}\r\n${piece}\r\n`)
            await delay(1000)
          }
          socket.write('0\r\n\r\n')
          t.match(await readAll(socket), /^HTTP\/1.1 200 /)
          await router.quiet()
        },
      ],
    ]
    await Promise.all(
      cases.map(([name, run]) => t.test(name, { buffered: true, timeout: 60_000 }, run)),
    )
  },
)
