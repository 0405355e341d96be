// The leader against a real nats-server: candidates, a restart of the store, a leader that is killed.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { z } from 'zod'
import { systemClock } from '../../kernel/clock.ts'
import { connectBus } from '../../transport/bus.ts'
import { type AdminAnswer, type AdminVerb, adminVerbs } from '../../transport/contract/admin.ts'
import { type Role, subjects } from '../../transport/contract/subjects.ts'
import { engineSecretPath } from '../../transport/identity.ts'
import { modelOf } from '../support/models.ts'
import { startNats, type TestNats } from '../support/nats-server.ts'
import { simulateNode } from '../support/simulated-node.ts'

const program = join(import.meta.dirname, '../../bin/leader.js')

async function setUp(t: Test, nats: TestNats) {
  const dir = await mkdtemp(join(tmpdir(), 'llmgw-leader-'))
  t.teardown(() => rm(dir, { recursive: true, force: true }))
  const connect = async (role: Role, name: string) => {
    const bus = await connectBus({
      url: nats.url,
      name,
      credentials: await nats.credentials(role, name),
    })
    t.teardown(() => bus.close())
    return bus
  }
  const leader = async (name: string, more: object = {}): Promise<ChildProcess> => {
    const credentialsFile = join(dir, `${name}.creds`)
    await writeFile(credentialsFile, await nats.credentials('leader', name))
    const config = join(dir, `${name}.yaml`)
    const settings = {
      version: 1,
      name,
      nats: { url: nats.url, credentialsFile },
      engineSecretFile: engineSecretPath(nats.dir),
      freshStore: true,
      ...more,
    }
    await writeFile(config, JSON.stringify(settings))
    const child = spawn(process.execPath, [program, '--config', config], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    child.stdout?.on(
      'data',
      (lines) => process.env['LLMGW_TEST_LOG'] && process.stderr.write(lines),
    )
    t.teardown(() => child.kill('SIGKILL'))
    return child
  }
  const admin = await connect('admin', 'admin')
  const ask = async <V extends AdminVerb>(verb: V, body: unknown = {}) => {
    const schema: z.ZodType = adminVerbs[verb].answer
    const outcome = await admin.request(subjects.adm(verb), body, schema, { withinMs: 2000 })
    return outcome.ok ? (outcome.value as AdminAnswer<V>) : null
  }
  /** Asks until the answer is as wanted; tells how long that took. */
  const until = async <V extends AdminVerb>(
    verb: V,
    isWanted: (answer: AdminAnswer<V>) => boolean,
    body: unknown = {},
  ): Promise<number> => {
    const startedAt = performance.now()
    while (performance.now() - startedAt < 40_000) {
      const answer = await ask(verb, body)
      if (answer !== null && isWanted(answer)) return Math.round(performance.now() - startedAt)
      await delay(50)
    }
    throw new Error(`${verb} never was as wanted: ${JSON.stringify(await ask(verb, body))}`)
  }
  return { connect, leader, ask, until }
}

t.test(
  'a leader that is killed is followed at once by one that carries on (CL1, CL2)',
  async (t) => {
    const nats = await startNats(t)
    if (nats === undefined) return
    const { connect, leader, ask, until } = await setUp(t, nats)
    // longer than anything here is waited for: whoever waited for it to lapse would come too late
    const lease = { lengthMs: 120_000, guardMs: 12_000 }
    const first = await leader('l1', { lease })
    await until('status', () => true)
    const node = simulateNode(await connect('node', 'n1'), systemClock, { everyMs: 200 })
    t.teardown(node.stop)
    t.ok(await ask('models-add', { definition: modelOf('small', { header: null }) }))
    const made = await ask('keys-create', { name: 'mine' })
    t.ok(made)
    await until('status', ({ models }) => models[0]?.ready === 1)
    const { token, commands } = { token: node.token, commands: [...node.commands] }
    t.same(
      commands.map((it) => it.type),
      ['fetch', 'start'],
    )

    const second = await leader('l2', { lease })
    await delay(1500)
    first.kill('SIGKILL')
    const goneMs = await until('status', ({ leader }) => leader.name === 'l2')
    t.comment(`the successor on the same machine answered ${goneMs} ms after the kill`)
    await until('status', ({ models }) => models[0]?.ready === 1)
    const keys = await ask('keys-list')
    t.same(keys?.keys, [made?.key])
    await until('nodes-list', ({ nodes }) => nodes[0]?.load !== null)
    t.ok(node.token > token, 'the node knows the new token')
    t.same(node.commands, commands, 'nothing was commanded again')

    const ended = once(second, 'exit')
    second.kill('SIGTERM')
    t.same(await ended, [0, null])
    const third = await leader('l1', { lease })
    const backMs = await until('status', ({ leader }) => leader.name === 'l1')
    t.comment(`after a clean stop the next one led ${backMs} ms after its start`)
    t.ok(await ask('models-remove', { model: 'small' }))
    await until('replicas-list', ({ replicas }) => replicas.length === 0)
    t.equal(node.shards.size, 0)
    third.kill('SIGTERM')
  },
)

t.test('two candidates: one leads, and a server that restarts changes nothing', async (t) => {
  const nats = await startNats(t)
  if (nats === undefined) return
  const { leader, until, ask } = await setUp(t, nats)
  await leader('l1')
  await until('status', () => true)
  await leader('l2')
  const before = (await ask('status'))?.leader
  await nats.kill()
  await delay(1000)
  await nats.start()
  const backMs = await until('status', () => true)
  t.comment(`administration worked ${backMs} ms after the server was back`)
  t.same((await ask('status'))?.leader, before)
})

t.test('a leader that was frozen past its lease says nothing once it thaws (CL1)', async (t) => {
  const nats = await startNats(t)
  if (nats === undefined) return
  const { leader, until, ask } = await setUp(t, nats)
  const lease = { lengthMs: 4000, guardMs: 400, renewMs: 500 }
  const first = await leader('l1', { lease })
  await until('status', () => true)
  await leader('l2', { lease })
  first.kill('SIGSTOP')
  const takenMs = await until('status', (it) => it.leader.name === 'l2')
  t.comment(`the successor led ${takenMs} ms after the freeze; the wait alone is 4400`)
  t.ok(takenMs > 3000, 'it waited for the lease of a process that lives')
  first.kill('SIGCONT')
  const names: (string | undefined)[] = []
  for (let look = 0; look < 40; look += 1) {
    names.push((await ask('status'))?.leader.name)
    await delay(25)
  }
  t.ok(
    names.every((name) => name === 'l2'),
    names.join(' '),
  )
  t.equal(first.exitCode, null, 'it observes again')
})
