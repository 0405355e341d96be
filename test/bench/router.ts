// CPU of one router for a plain chat and for a stream of 64 chunks, beside a bare pass-through; against the fake engine.
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { Pool } from 'undici'
import { startHttpServer } from '../../transport/http.ts'
import { ask } from '../support/chat-client.ts'
import { startFakeEngine } from '../support/fake-engine/engine.ts'
import { startTestRouter } from '../support/router.ts'

const rounds = 5
const requests = 400
const inFlight = 8

/** Copies body and answer, and nothing else. */
async function startBare(enginePort: number): Promise<string> {
  const pool = new Pool(`http://127.0.0.1:${enginePort}`, { connections: null })
  const server = await startHttpServer({ host: '127.0.0.1', port: 0 }, (exchange) => {
    const chunks: Uint8Array[] = []
    let begun = false
    exchange.onGone(() => undefined)
    exchange.onBody((chunk, last) => {
      chunks.push(new Uint8Array(chunk))
      if (!last) return
      const request = { path: exchange.path, method: 'POST' as const, body: Buffer.concat(chunks) }
      pool.dispatch(request, {
        onConnect: () => undefined,
        onHeaders: () => true,
        onData(chunk) {
          if (begun) return exchange.write(chunk)
          begun = true
          return exchange.begin(200, [], chunk)
        },
        onComplete: () => exchange.end(),
        onError: () => exchange.send(502, [], ''),
      })
    })
  })
  return `http://127.0.0.1:${server.port}`
}

/** A process of its own, so that its time is nobody else's. */
async function serve(what: string, enginePort: number): Promise<void> {
  const url =
    what === 'bare'
      ? await startBare(enginePort)
      : (await startTestRouter({ engines: { r1: enginePort } })).url
  process.on('message', () => process.send?.(process.cpuUsage()))
  process.on('disconnect', () => process.exit())
  process.send?.(url)
}

async function startServed(what: string, enginePort: number) {
  const child = fork(fileURLToPath(import.meta.url), [what, String(enginePort)])
  const told = <T>() => new Promise<T>((resolve) => child.once('message', (it) => resolve(it as T)))
  const url = await told<string>()
  const cpuUs = async () => {
    const answer = told<NodeJS.CpuUsage>()
    child.send('cpu')
    const { user, system } = await answer
    return user + system
  }
  const measure = async (stream: boolean): Promise<number> => {
    const before = await cpuUs()
    const one = async () => {
      for (let count = 0; count < requests / inFlight; count += 1) await ask(url, { stream })
    }
    await Promise.all(Array.from({ length: inFlight }, one))
    return ((await cpuUs()) - before) / requests
  }
  return { measure, end: () => child.disconnect() }
}

const median = (values: readonly number[]): number =>
  [...values].sort((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN

async function compare(): Promise<void> {
  const deltas = Array.from({ length: 60 }, () => 'word ')
  const engine = await startFakeEngine({ deltas, slots: inFlight })
  const router = await startServed('router', engine.port)
  const bare = await startServed('bare', engine.port)
  for (const stream of [false, true]) {
    const times = { router: [] as number[], bare: [] as number[] }
    for (let round = 0; round <= rounds; round += 1) {
      const took = { router: await router.measure(stream), bare: await bare.measure(stream) }
      if (round === 0) continue // warms up
      times.router.push(took.router)
      times.bare.push(took.bare)
    }
    const [ofRouter, ofBare] = [median(times.router), median(times.bare)]
    const name = stream ? 'stream of 64 chunks' : 'plain chat'
    const ratio = (ofRouter / ofBare).toFixed(2)
    process.stdout.write(`${name}: ${ratio} (${ofRouter.toFixed(0)} us, ${ofBare.toFixed(0)} us)\n`)
  }
  router.end()
  bare.end()
  await engine.close()
}

const [what, enginePort] = process.argv.slice(2)
await (what ? serve(what, Number(enginePort)) : compare())
