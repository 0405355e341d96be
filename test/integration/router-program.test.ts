// The program llmgw-router with a real nats-server and fake engines: its table, its reports, its end.
import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { freePort } from '../../actors/shard/io/port.ts'
import { connectBus } from '../../transport/bus.ts'
import { type RouterReport, routerReportSchema } from '../../transport/contract/node.ts'
import { subjects } from '../../transport/contract/subjects.ts'
import { deriveReplicaKey, engineSecretPath } from '../../transport/identity.ts'
import { openStore } from '../../transport/store.ts'
import { type FakeEngine, startFakeEngine } from '../support/fake-engine/engine.ts'
import { startNats, type TestNats } from '../support/nats-server.ts'
import { eventually } from '../support/own-process.ts'

const program = join(import.meta.dirname, '../../bin/router.js')
const sha256 = (secret: string) => createHash('sha256').update(secret).digest('hex')

type RouterProcess = { child: ChildProcess; log(): string; code(): Promise<number | null> }

async function startRouter(
  t: Test,
  nats: TestNats,
  name: string,
  port: number,
  drainMs: number,
): Promise<RouterProcess> {
  const credentialsFile = join(nats.dir, `${name}.creds`)
  await writeFile(credentialsFile, await nats.credentials('router', name))
  const config = join(nats.dir, `${name}.json`)
  const settings = {
    version: 1,
    name,
    nats: { url: nats.url, credentialsFile },
    listen: { port },
    engineSecretFile: engineSecretPath(nats.dir),
    drainMs,
  }
  await writeFile(config, JSON.stringify(settings))
  const child = spawn(process.execPath, [program, '--config', config], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let log = ''
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    log += chunk
  })
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
  })
  return { child, log: () => log, code: () => ended }
}

const serving = (router: RouterProcess) =>
  eventually('the router serves', () => router.log().includes('"serving"'), 10_000)

/** The leader's part of the table: a model, a key, and a route to an engine. */
async function setUp(t: Test, nats: TestNats, engine: FakeEngine) {
  const bus = await connectBus({
    url: nats.url,
    credentials: await nats.credentials('leader', 'l1'),
    name: 'l1',
  })
  t.teardown(() => bus.close())
  const store = openStore(bus)
  await store.prepare()
  await store.route.takeFence(1)
  await store.route.put('model.fake', { model: 'fake', created: 1_790_000_000 })
  await store.route.put(`key.${sha256('sk-one')}`, { id: 'k1', name: 'one', scope: 'root' })
  const revision = await store.route.put('route.rep1', {
    replica: 'rep1',
    model: 'fake',
    node: 'n1',
    engine: 'llamacpp',
    host: '127.0.0.1',
    port: engine.port,
    slots: 2,
    state: 'ready',
  })
  engine.be({ key: deriveReplicaKey(nats.identity.engineSecret, 'rep1') })
  return { bus, store, revision }
}

const ask = (port: number, stream: boolean, key = 'sk-one') =>
  fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      connection: 'close',
    },
    body: JSON.stringify({ model: 'fake', stream, messages: [{ role: 'user', content: 'Hi' }] }),
  })

t.test(
  'two routers share a port, report, outlive NATS and obey a revocation',
  { timeout: 40_000 },
  async (t) => {
    const nats = await startNats(t)
    if (!nats) return
    const engine = await startFakeEngine()
    t.teardown(() => engine.close())
    const { bus, revision } = await setUp(t, nats, engine)
    const reports: RouterReport[] = []
    bus.subscribe(subjects.hbAll, ({ body }) => void reports.push(routerReportSchema.parse(body)))
    const port = await freePort('127.0.0.1', Math.random)
    const routers = [
      await startRouter(t, nats, 'router-1', port, 1000),
      await startRouter(t, nats, 'router-2', port, 1000),
    ]
    for (const router of routers) await serving(router)

    await t.test('both answer', async (t) => {
      const ids = new Set<string>()
      for (let turn = 0; turn < 40 && ids.size < 2; turn += 1) {
        const answer = await ask(port, false)
        t.equal(answer.status, 200)
        ids.add(answer.headers.get('x-request-id')?.slice(0, 12) ?? '')
        await answer.text()
      }
      t.equal(ids.size, 2, 'ids of both processes were seen')
    })

    await t.test("each reports its pid, its table's revision and its live requests", async (t) => {
      engine.be({ prefillMs: 1500 })
      const slow = ask(port, true)
      const holding = await eventually('a report with a hold', () =>
        reports.find((it) => it.holds['rep1'] === 1),
      )
      t.equal(holding.revision, revision)
      const pids = routers.map(({ child }) => child.pid)
      await eventually('both have reported', () =>
        pids.every((pid) => reports.some((it) => it.pid === pid)),
      )
      await (await slow).text()
      engine.be({ prefillMs: 0 })
    })

    await t.test(
      'requests go on without NATS; a revoked key is refused by both without the mirror',
      async (t) => {
        bus.publish(subjects.all('revoked'), { sha256: sha256('sk-two') })
        await nats.kill('SIGKILL')
        for (let turn = 0; turn < 10; turn += 1) {
          const answer = await ask(port, false)
          t.equal(answer.status, 200)
          await answer.text()
        }
        await nats.start()
        await eventually('connected again', () => bus.connected, 10_000)
        const before = reports.length
        await eventually('reports come again', () => reports.length > before + 2, 10_000)
        bus.publish(subjects.all('revoked'), { sha256: sha256('sk-one') })
        let refused = 0
        for (let turn = 0; turn < 200 && refused < 20; turn += 1) {
          const answer = await ask(port, false)
          refused = answer.status === 401 ? refused + 1 : 0
          await answer.text()
        }
        t.equal(refused, 20)
      },
    )
  },
)

t.test(
  'a router that ends lets streams finish, and says so to those that cannot',
  { timeout: 40_000 },
  async (t) => {
    const nats = await startNats(t)
    if (!nats) return
    const engine = await startFakeEngine({ paceMs: 100 })
    t.teardown(() => engine.close())
    await setUp(t, nats, engine)
    const port = await freePort('127.0.0.1', Math.random)
    const router = await startRouter(t, nats, 'router-1', port, 1200)
    await serving(router)

    await t.test('a second one of another user cannot take the port', async (t) => {
      const other = createServer()
      const taken = await new Promise<number>((resolve) =>
        other.listen(0, '127.0.0.1', () => {
          const address = other.address()
          resolve(typeof address === 'object' && address ? address.port : 0)
        }),
      )
      const second = await startRouter(t, nats, 'router-2', taken, 0)
      t.equal(await second.code(), 1)
      t.match(second.log(), /Port \d+ on 127\.0\.0\.1 is in use/)
      other.close()
    })

    const short = await ask(port, true)
    engine.be({ deltas: Array.from({ length: 100 }, () => 'x') })
    const long = await ask(port, true)
    router.child.kill('SIGTERM')
    t.match(await short.text(), /data: \[DONE\]\n\n$/, 'the short one ended whole')
    const cut = await long.text()
    t.match(cut, /data: \{"error":\{"message":"This gateway process is stopping/)
    t.notMatch(cut, 'DONE')
    t.equal(await router.code(), 0)
    await eventually('the engine was told', () => engine.running === 0)
  },
)

t.test(
  'a router without NATS waits for it, and ends at a signal',
  { timeout: 20_000 },
  async (t) => {
    const nats = await startNats(t)
    if (!nats) return
    const engine = await startFakeEngine()
    t.teardown(() => engine.close())
    await nats.kill()
    const waiting = await startRouter(t, nats, 'router-1', 0, 0)
    await eventually('it tries', () => waiting.log().includes('"connecting"'), 10_000)
    await delay(300)
    waiting.child.kill('SIGTERM')
    t.equal(await waiting.code(), 0)
    t.notMatch(waiting.log(), '"serving"')

    const port = await freePort('127.0.0.1', Math.random)
    const later = await startRouter(t, nats, 'router-2', port, 0)
    await nats.start()
    await setUp(t, nats, engine)
    await serving(later)
    t.equal((await ask(port, false)).status, 200)
    later.child.kill('SIGINT')
    t.equal(await later.code(), 0)
  },
)
