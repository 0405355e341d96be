// A node's agent against a leader played by the test: registration, commands, reports, adoption, end.
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { statOf } from '../../actors/process/io/identity.ts'
import type { Bus } from '../../transport/bus.ts'
import {
  type Command,
  logsAnswerSchema,
  type NodeReport,
  type Registration,
  takenSchema,
} from '../../transport/contract/node.ts'
import { subjects } from '../../transport/contract/subjects.ts'
import { memoryWire } from '../support/memory-bus.ts'
import { boot, type NodeLab, nodeName, startNode } from '../support/node-lab.ts'
import { eventually, temporaryFolder } from '../support/own-process.ts'
import { shardSpec } from '../support/shards.ts'

type Test = { teardown(act: () => unknown): void }

/** A leader that answers registrations, and hears reports. */
function lead(bus: Bus, token: number) {
  const registrations: Registration[] = []
  const reports: NodeReport[] = []
  bus.subscribe(subjects.svcAll('members', 'register'), (it) => {
    registrations.push(it.body as Registration)
    it.reply({ ok: true, value: { token } })
  })
  bus.subscribe(subjects.hbAll, (it) => void reports.push(it.body as NodeReport))
  const command = (kind: string, id: string, body: Command) =>
    bus.request(subjects.act(nodeName, boot, kind, id), body, takenSchema, { withinMs: 1000 })
  const shard = (phase: string) =>
    eventually(
      `a report of phase ${phase}`,
      () => reports.at(-1)?.shards.find((it) => it.phase === phase),
      10_000,
    )
  return { registrations, reports, command, shard }
}

function place(test: Test): { dir: string; lifePath: string } {
  const { dir, remove } = temporaryFolder()
  test.teardown(remove)
  return { dir, lifePath: join(dir, 'life.json') }
}

function endAfter(test: Test, lab: NodeLab): void {
  test.teardown(async () => {
    await lab.agent.endShards()
    await lab.system.stop()
  })
}
const start: Command = { type: 'start', token: 3, ...shardSpec('r1') }

t.test('ND6: a node registers, obeys, reports, and registers anew after a reconnect', async (t) => {
  const { dir, lifePath } = place(t)
  const wire = memoryWire()
  const leader = lead(wire.join('leader'), 3)
  const bus = wire.join(nodeName)
  endAfter(t, startNode(dir, Promise.resolve(bus), lifePath))
  const first = await eventually('a registration', () => leader.registrations[0])
  t.match(first, { node: nodeName, boot, report: { seq: 1, files: [], installs: [], shards: [] } })

  t.same(await leader.command('shard', 'r1', start), { ok: true, value: { taken: true } })
  t.same(await leader.command('shard', 'r1', start), { ok: true, value: { taken: true } })
  const { pid } = await leader.shard('ready')
  const seqs = leader.reports.map((it) => it.seq)
  t.same(
    seqs,
    seqs.map((_, at) => at + 2),
    'no report is missing',
  )

  const stale = await leader.command('shard', 'r1', { type: 'stop', token: 2, replica: 'r1' })
  t.match(stale, { ok: false, error: { code: 'LLMGW_STALE_COMMAND' } })

  bus.disconnect()
  bus.reconnect()
  const second = await eventually('another registration', () => leader.registrations[1])
  t.match(second.report, { files: [], installs: [], shards: [{ phase: 'ready', pid }] })
  await leader.command('node', nodeName, { type: 'register', token: 3 })
  await eventually('a registration that was asked for', () => leader.registrations[2])

  await leader.command('shard', 'r1', { type: 'stop', token: 3, replica: 'r1' })
  await eventually('no shard', () => leader.reports.at(-1)?.shards.length === 0)
  t.equal(statOf(pid ?? 0), null)
})

t.test('logs are answered without the key, and of known replicas only', async (t) => {
  const { dir, lifePath } = place(t)
  writeFileSync(lifePath, JSON.stringify({ dies: { code: 1, text: 'invalid magic characters' } }))
  const wire = memoryWire()
  const bus = wire.join('leader')
  const leader = lead(bus, 3)
  endAfter(t, startNode(dir, Promise.resolve(wire.join(nodeName)), lifePath))
  await eventually('a registration', () => leader.registrations[0])
  await leader.command('shard', 'r1', start)
  await leader.shard('failed')
  const read = (replica: string) =>
    bus.request(subjects.act(nodeName, boot, 'logs', replica), { lines: 5 }, logsAnswerSchema, {
      withinMs: 1000,
    })
  t.same(await read('r1'), {
    ok: true,
    value: { lines: ['invalid magic characters (key [redacted])'] },
  })
  for (const replica of ['r2', '..', 'a/../r1']) {
    t.match(await read(replica), { ok: false })
  }
})

t.test(
  'EN2: without any cluster an agent adopts its engines; when it ends they live on, or end first',
  async (t) => {
    const { dir, lifePath } = place(t)
    const wire = memoryWire()
    const leader = lead(wire.join('leader'), 3)
    const one = startNode(dir, Promise.resolve(wire.join(nodeName)), lifePath)
    await eventually('a registration', () => leader.registrations[0])
    await leader.command('shard', 'r1', start)
    const { pid, port } = await leader.shard('ready')
    await one.system.stop()
    t.not(statOf(pid ?? 0), null, 'its engine lives on')

    let join = (_: Bus): void => {}
    const bus = new Promise<Bus>((resolve) => {
      join = resolve
    })
    const two = startNode(dir, bus, lifePath)
    endAfter(t, two)
    join(wire.join(nodeName))
    const again = await eventually('a registration', () => leader.registrations[1])
    t.match(again.report.shards, [{ phase: 'ready', pid, port, restarts: 0 }])

    await two.agent.endShards()
    t.equal(statOf(pid ?? 0), null)
    t.notOk(existsSync(`${dir}/run/shards/r1`))
  },
)
