// The bus over a real server: answers, refusals known at once, reconnects, revocation, and hostile bytes.
import { setTimeout as delay } from 'node:timers/promises'
import { connect, credsAuthenticator } from '@nats-io/transport-node'
import t from 'tap'
import { z } from 'zod'
import { failure } from '../../kernel/errors.ts'
import { type BusStatus, connectBus, type NatsBus } from '../../transport/bus.ts'
import { encode } from '../../transport/codec.ts'
import type { Role } from '../../transport/contract/subjects.ts'
import { accountJwt, issueSystemCredentials } from '../../transport/identity.ts'
import { startNats, type TestNats } from '../support/nats-server.ts'

type Ending = { teardown(end: () => unknown): void }

async function join(t: Ending, nats: TestNats, role: Role, name: string): Promise<NatsBus> {
  const bus = await connectBus({
    url: nats.url,
    credentials: await nats.credentials(role, name),
    name,
  })
  t.teardown(() => bus.close())
  return bus
}

const nextStatus = (bus: NatsBus, type: BusStatus['type']): Promise<BusStatus> =>
  new Promise((resolve) => {
    const end = bus.onStatus((status) => {
      if (status.type !== type) return
      end()
      resolve(status)
    })
  })

const anything = z.unknown()
const within = { withinMs: 2000 }

t.test('a request is answered, with the caller and its time told', async (t) => {
  const nats = await startNats(t)
  if (!nats) return
  const leader = await join(t, nats, 'leader', 'l1')
  const node = await join(t, nats, 'node', 'n1')
  leader.subscribe('llmgw.v1.svc.members.register.*', (message) => {
    const { subject, body, remainingMs, trace } = message
    message.reply({ ok: true, value: { subject, body, remainingMs, trace } })
    message.reply({ ok: true, value: 'again' })
  })
  await leader.connection.flush()
  const subject = 'llmgw.v1.svc.members.register.n1'
  const answer = await node.request(subject, { a: 1 }, anything, { ...within, trace: 'tp' })
  t.strictSame(answer, {
    ok: true,
    value: { subject, body: { a: 1 }, remainingMs: 2000, trace: 'tp' },
  })
  const wrong = await node.request(subject, {}, z.object({ subject: z.number() }), within)
  t.match(wrong, { ok: false, error: { code: 'LLMGW_BAD_MESSAGE' } })
  const unpackable = await node.request(subject, 1n, anything, within)
  t.match(unpackable, { ok: false, error: { code: 'LLMGW_BAD_MESSAGE' } })
})

t.test('a refusal of the responder arrives as data', async (t) => {
  const nats = await startNats(t)
  if (!nats) return
  const leader = await join(t, nats, 'leader', 'l1')
  const admin = await join(t, nats, 'admin', 'ctl')
  const error = failure('LLMGW_MODEL_UNKNOWN', { model: 'm' })
  leader.subscribe('llmgw.v1.adm.models-show', (message) => message.reply({ ok: false, error }))
  leader.subscribe('llmgw.v1.adm.broken', () => {
    throw new Error('a bug')
  })
  leader.subscribe('llmgw.v1.adm.silent', () => undefined)
  await leader.connection.flush()
  t.strictSame(await admin.request('llmgw.v1.adm.models-show', {}, anything, within), {
    ok: false,
    error,
  })
  t.match(await admin.request('llmgw.v1.adm.broken', {}, anything, within), {
    error: { code: 'LLMGW_HANDLER_FAILED' },
  })
  t.match(await admin.request('llmgw.v1.adm.silent', {}, anything, { withinMs: 50 }), {
    error: { code: 'LLMGW_NO_ANSWER' },
  })
})

t.test('where nobody listens or it is forbidden, a request ends at once', async (t) => {
  const nats = await startNats(t)
  if (!nats) return
  const admin = await join(t, nats, 'admin', 'ctl')
  const node = await join(t, nats, 'node', 'n1')
  const startedAt = performance.now()
  const long = { withinMs: 60_000 }
  t.match(await admin.request('llmgw.v1.adm.status', {}, anything, long), {
    error: { code: 'LLMGW_NO_LEADER' },
  })
  t.match(await node.request('llmgw.v1.svc.members.register.n1', {}, anything, long), {
    error: { code: 'LLMGW_NO_ANSWER' },
  })
  t.match(await node.request('llmgw.v1.adm.status', {}, anything, long), {
    error: { code: 'LLMGW_SUBJECT_FORBIDDEN', details: { subject: 'llmgw.v1.adm.status' } },
  })
  t.ok(performance.now() - startedAt < 20_000, 'at once, not when the time is over')
})

t.test('hostile bytes, other versions and expired messages never reach the handler', async (t) => {
  const nats = await startNats(t)
  if (!nats) return
  const leader = await join(t, nats, 'leader', 'l1')
  const node = await join(t, nats, 'node', 'n1')
  const bodies: unknown[] = []
  leader.subscribe('llmgw.v1.hb.*', (message) => bodies.push(message.body))
  await leader.connection.flush()
  const send = (bytes: Uint8Array) => node.connection.publish('llmgw.v1.hb.n1', bytes)
  send(new Uint8Array([0xc1]))
  send(new Uint8Array(600_000))
  send(new Uint8Array(20_000).fill(0x91))
  send(encode({ v: 9, id: 'a', body: 1 }))
  send(encode({ v: 1, id: 'a', remainingMs: 0, body: 1 }))
  node.publish('llmgw.v1.hb.n1', 'good')
  await node.connection.flush()
  await leader.connection.flush()
  t.strictSame(bodies, ['good'])
  t.strictSame(leader.dropped, { malformed: 3, version: 1, expired: 1, failed: 0 })
})

t.test('a lost connection comes back with a new epoch and its subscriptions', async (t) => {
  const nats = await startNats(t)
  if (!nats) return
  const leader = await join(t, nats, 'leader', 'l1')
  const node = await join(t, nats, 'node', 'n1')
  leader.subscribe('llmgw.v1.svc.a.b.*', (message) => message.reply({ ok: true, value: 1 }))
  t.equal(leader.epoch, 1)
  const lost = nextStatus(leader, 'disconnected')
  const back = Promise.all([nextStatus(leader, 'connected'), nextStatus(node, 'connected')])
  await nats.kill('SIGKILL')
  await lost
  t.notOk(leader.connected)
  node.publish('llmgw.v1.hb.n1', 'dropped')
  await nats.start()
  t.strictSame(await back, [
    { type: 'connected', epoch: 2 },
    { type: 'connected', epoch: 2 },
  ])
  await leader.connection.flush()
  t.strictSame(await node.request('llmgw.v1.svc.a.b.n1', {}, anything, within), {
    ok: true,
    value: 1,
  })
})

t.test('a frozen server is noticed (aimed: 6 s), and what was asked of it ends', async (t) => {
  const nats = await startNats(t)
  if (!nats) return
  const leader = await join(t, nats, 'leader', 'l1')
  const node = await join(t, nats, 'node', 'n1')
  leader.subscribe('llmgw.v1.svc.a.b.*', (message) => message.reply({ ok: true, value: 1 }))
  await leader.connection.flush()
  const lost = nextStatus(node, 'disconnected')
  process.kill(nats.pid, 'SIGSTOP')
  const startedAt = performance.now()
  const asked = node.request('llmgw.v1.svc.a.b.n1', {}, anything, { withinMs: 30_000 })
  await lost
  t.match(await asked, { error: { code: 'LLMGW_NO_ANSWER' } })
  const tookMs = Math.round(performance.now() - startedAt)
  t.comment(`noticed after ${tookMs} ms`)
  t.ok(tookMs < 60_000)
  const later = node.request('llmgw.v1.svc.a.b.n1', {}, anything, { withinMs: 30_000 })
  const back = nextStatus(node, 'connected')
  process.kill(nats.pid, 'SIGCONT')
  const first = await Promise.race([back.then(() => 'connection'), later.then(() => 'answer')])
  t.equal(first, 'connection', 'what is asked without a connection waits for the next')
  const { ok, error } = { error: null, ...(await later) }
  t.ok(ok || error?.code === 'LLMGW_NO_ANSWER', 'whether or not the leader is back already')
})

t.test('a revoked program is closed for good, and refused when it comes again', async (t) => {
  const nats = await startNats(t)
  if (!nats) return
  const credentials = await nats.credentials('node', 'n1')
  const node = await connectBus({ url: nats.url, credentials, name: 'n1' })
  const other = await join(t, nats, 'node', 'n2')
  const closed = nextStatus(node, 'closed')
  const key = /"sub":"(U[A-Z2-7]+)"/.exec(
    Buffer.from(credentials.split('\n')[1]?.split('.')[1] ?? '', 'base64url').toString(),
  )?.[1]
  const system = await connect({
    servers: nats.url,
    inboxPrefix: '_INBOX.system',
    authenticator: credsAuthenticator(
      new TextEncoder().encode(await issueSystemCredentials(nats.identity)),
    ),
  })
  t.teardown(() => system.close())
  // of two tokens of one second the server keeps the one in its configuration at a restart
  await delay(1000 - (Date.now() % 1000))
  const revoked = await accountJwt(nats.identity, { [key ?? '']: Math.ceil(Date.now() / 1000) })
  const pushed = await system.request('$SYS.REQ.CLAIMS.UPDATE', revoked)
  t.match(pushed.json(), { data: { code: 200 } })
  t.match(await closed, { reason: /authorization|revoked/i })
  t.notOk(node.connected)
  t.ok(other.connected, 'another is not disturbed')
  await t.rejects(connectBus({ url: nats.url, credentials, name: 'n1' }), {
    code: 'LLMGW_CREDENTIALS_REFUSED',
  })
  await nats.kill('SIGKILL')
  await nats.start()
  await t.rejects(connectBus({ url: nats.url, credentials, name: 'n1' }), {
    code: 'LLMGW_CREDENTIALS_REFUSED',
  })
})

t.test('the first connection waits for the server, or as long as it may', async (t) => {
  const nats = await startNats(t)
  if (!nats) return
  const credentials = await nats.credentials('admin', 'ctl')
  await nats.kill()
  const options = { url: nats.url, credentials, name: 'ctl' }
  await t.rejects(connectBus({ ...options, withinMs: 1 }), { code: 'LLMGW_NATS_UNREACHABLE' })
  const connecting = connectBus(options)
  await delay(300)
  await nats.start()
  const bus = await connecting
  t.ok(bus.connected)
  const closed = nextStatus(bus, 'closed')
  await bus.close()
  t.match(await closed, { reason: 'closed by this program' })
  t.match(await bus.request('llmgw.v1.adm.status', {}, anything, within), { ok: false })
  bus.publish('llmgw.v1.adm.status', {})
})
