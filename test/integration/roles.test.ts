// Credentials of each role against a real server: its own work goes, everything of the others is refused.
import { errors } from '@nats-io/transport-node'
import t, { type Test } from 'tap'
import { z } from 'zod'
import { connectBus, type NatsBus } from '../../transport/bus.ts'
import { type Role, subjects } from '../../transport/contract/subjects.ts'
import { natsMirrorPorts } from '../../transport/mirror.ts'
import { openStore } from '../../transport/store.ts'
import { packAnswer } from '../../transport/wire.ts'
import { startNats, type TestNats } from '../support/nats-server.ts'

async function join(t: Test, nats: TestNats, role: Role, name: string): Promise<NatsBus> {
  const credentials = await nats.credentials(role, name)
  const bus = await connectBus({ url: nats.url, credentials, name })
  t.teardown(() => bus.close())
  return bus
}

/** What the server makes of a publication: only a refusal for lack of rights counts as one. */
async function mayPublish({ connection }: NatsBus, subject: string): Promise<boolean> {
  try {
    await connection.request(subject, undefined, { timeout: 1000 })
    return true
  } catch (thrown) {
    const cause = thrown instanceof Error ? thrown.cause : undefined
    return !(cause instanceof errors.PermissionViolationError)
  }
}

async function maySubscribe({ connection }: NatsBus, subject: string): Promise<boolean> {
  let refused = false
  const subscription = connection.subscribe(subject, {
    callback: (error) => {
      refused ||= error instanceof errors.PermissionViolationError
    },
  })
  await connection.flush()
  subscription.unsubscribe()
  return !refused
}

type Rights = { publish: string[]; subscribe: string[] }
const state = 'KV_llmgw_state'
const route = 'KV_llmgw_route'

/** By role, with the name `me`: what it may do besides what the tests below do. */
const allowed: Record<Role, Rights> = {
  leader: {
    publish: [subjects.act('n9', 'b1', 'shard', 'r1'), subjects.all('revoked')],
    subscribe: ['llmgw.v1.adm.*', subjects.svcAll('members', 'register'), subjects.hbAll],
  },
  router: {
    publish: [subjects.hb('me'), subjects.svc('accounts', 'slice', 'me'), subjects.use('me')],
    subscribe: [subjects.allAll],
  },
  node: {
    publish: [subjects.hb('me'), subjects.svc('members', 'register', 'me')],
    subscribe: [subjects.actAll('me', 'b1')],
  },
  admin: { publish: [subjects.adm('status')], subscribe: [] },
}

/** What nobody but the owner of a name may do. */
const strangers: Rights = {
  publish: [subjects.hb('other'), subjects.svc('members', 'register', 'other'), 'foreign.subject'],
  subscribe: ['_INBOX.>', '_INBOX.other.>', '>', 'foreign.subject', '$SYS.>', '$KV.>'],
}

const forbidden: Record<Role, Rights> = {
  leader: {
    publish: [
      subjects.hb('me'),
      subjects.adm('status'),
      subjects.use('me'),
      '$SYS.REQ.CLAIMS.UPDATE',
    ],
    subscribe: [subjects.actAll('n9', 'b1'), subjects.allAll],
  },
  router: {
    publish: [
      subjects.act('n9', 'b1', 'shard', 'r1'),
      subjects.adm('status'),
      subjects.all('revoked'),
      subjects.use('other'),
      '$KV.llmgw_route.route.x',
      '$KV.llmgw_state.x',
      '$KV.llmgw_lease.leader',
      `$JS.API.STREAM.INFO.${state}`,
      `$JS.API.STREAM.MSG.GET.${state}`,
      `$JS.API.CONSUMER.CREATE.${state}`,
      `$JS.API.CONSUMER.CREATE.${state}.c.$KV.llmgw_state.>`,
      `$JS.API.STREAM.MSG.GET.KV_llmgw_lease`,
      `$JS.API.STREAM.CREATE.MINE`,
      `$JS.API.STREAM.UPDATE.${route}`,
      `$JS.API.STREAM.DELETE.${route}`,
      `$JS.API.STREAM.PURGE.${route}`,
    ],
    subscribe: ['llmgw.v1.adm.*', 'llmgw.v1.svc.>', subjects.hbAll, 'llmgw.v1.act.>'],
  },
  node: {
    publish: [
      subjects.act('n9', 'b1', 'shard', 'r1'),
      subjects.adm('status'),
      subjects.all('revoked'),
      subjects.use('me'),
      '$JS.API.INFO',
      `$JS.API.STREAM.INFO.${route}`,
      `$JS.API.STREAM.MSG.GET.${route}`,
      `$JS.API.DIRECT.GET.${route}.$KV.llmgw_route.x`,
      `$JS.API.CONSUMER.CREATE.${route}`,
      '$KV.llmgw_route.route.x',
    ],
    subscribe: [subjects.actAll('n9', 'b1'), 'llmgw.v1.act.>', subjects.allAll, subjects.hbAll],
  },
  admin: {
    publish: [
      subjects.act('n9', 'b1', 'shard', 'r1'),
      subjects.all('revoked'),
      subjects.hb('me'),
      subjects.svc('members', 'register', 'me'),
      '$JS.API.INFO',
      `$JS.API.STREAM.MSG.GET.${state}`,
      '$KV.llmgw_state.x',
    ],
    subscribe: ['llmgw.v1.adm.*', subjects.allAll, subjects.hbAll, 'llmgw.v1.act.>'],
  },
}

t.test('each role may use its own subjects and no others', async (t) => {
  const nats = await startNats(t)
  if (!nats) return
  await openStore(await join(t, nats, 'leader', 'l1')).prepare()
  for (const role of ['leader', 'router', 'node', 'admin'] as const) {
    await t.test(role, async (t) => {
      const bus = await join(t, nats, role, 'me')
      const may: string[] = []
      for (const it of [...forbidden[role].publish, ...strangers.publish]) {
        if (await mayPublish(bus, it)) may.push(`publish ${it}`)
      }
      for (const it of [...forbidden[role].subscribe, ...strangers.subscribe]) {
        if (await maySubscribe(bus, it)) may.push(`subscribe ${it}`)
      }
      t.strictSame(may, [], 'nothing that is forbidden goes')
      const mayNot: string[] = []
      for (const it of allowed[role].publish) {
        if (!(await mayPublish(bus, it))) mayNot.push(`publish ${it}`)
      }
      for (const it of [...allowed[role].subscribe, '_INBOX.me.>']) {
        if (!(await maySubscribe(bus, it))) mayNot.push(`subscribe ${it}`)
      }
      t.strictSame(mayNot, [], 'all that is allowed goes')
      t.ok(bus.connected)
    })
  }
})

t.test('nobody but the asked one can answer, and once', async (t) => {
  const nats = await startNats(t)
  if (!nats) return
  const leader = await join(t, nats, 'leader', 'l1')
  const node = await join(t, nats, 'node', 'n1')
  let inbox = ''
  const subject = subjects.act('n1', 'b1', 'shard', 'r1')
  node.connection.subscribe(subjects.actAll('n1', 'b1'), {
    callback: (_error, message) => {
      inbox = message.reply ?? ''
      message.respond(packAnswer(subject, '', { ok: true, value: 1 }))
    },
  })
  await node.connection.flush()
  const within = { withinMs: 1000 }
  t.strictSame(await leader.request(subject, {}, z.number(), within), { ok: true, value: 1 })
  t.match(inbox, /^_INBOX\.l1\./)
  t.notOk(await mayPublish(node, inbox), 'a second answer is refused')
  t.notOk(await mayPublish(await join(t, nats, 'node', 'n2'), inbox))
})

t.test('routers read their bucket with the rights that they have', async (t) => {
  const nats = await startNats(t)
  if (!nats) return
  const store = openStore(await join(t, nats, 'leader', 'l1'))
  await store.prepare()
  await store.route.takeFence(1)
  await store.route.put('route.r1', { a: 1 })
  const read = async (bus: NatsBus, bucket: string): Promise<string> => {
    const ports = natsMirrorPorts(bus, bucket, () => undefined)
    await ports.look()
    return new Promise((resolve) => {
      const watching = ports.watch({
        listed: (entries) => {
          watching.stop()
          resolve(entries.map((it) => it.key).join(' '))
        },
        changed: () => undefined,
        ended: resolve,
      })
    })
  }
  const router = await join(t, nats, 'router', 'me')
  t.equal(await read(router, 'llmgw_route'), 'fence route.r1')
  await t.rejects(read(router, 'llmgw_state'), /permission/i)
  await t.rejects(read(await join(t, nats, 'node', 'n1'), 'llmgw_route'), /permission/i)
})
