// One replica's part on a node with real processes: start, crash, adoption, end.
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { statOf } from '../../actors/process/io/identity.ts'
import { readRun } from '../../actors/process/io/ports.ts'
import type { Engine } from '../../engines/engine.ts'
import { llamacpp } from '../../engines/llamacpp.ts'
import type { ShardStatus } from '../../transport/contract/node.ts'
import type { Life } from '../support/fake-llama.ts'
import { eventually, temporaryFolder } from '../support/own-process.ts'
import { type ShardLab, startShard } from '../support/shard-lab.ts'
import { shardSpec } from '../support/shards.ts'

type Test = { teardown(act: () => unknown): void }

/** A folder for run folders, and a file that says how fake engines live. */
function place(test: Test) {
  const { dir, remove } = temporaryFolder()
  test.teardown(remove)
  const lifePath = join(dir, 'life.json')
  return {
    dir: join(dir, 'shards'),
    lifePath,
    live: (life: Life): void => writeFileSync(lifePath, JSON.stringify(life)),
  }
}

/** Ends the engine and the shard, whatever the test left. */
function endAfter(test: Test, lab: ShardLab): void {
  test.teardown(async () => {
    lab.ref.tell({ type: 'stop' })
    await eventually('the end of the shard', () => !lab.ref.tell({ type: 'stop' }), 15_000)
    await lab.system.stop()
  })
}

const phase = (lab: ShardLab, wanted: ShardStatus['phase'], after = 0, withinMs = 10_000) =>
  eventually(
    `phase ${wanted}`,
    () => lab.seen.slice(after).find((it) => it.phase === wanted),
    withinMs,
  )
const phases = (lab: ShardLab): string[] =>
  lab.seen.map((it) => it.phase).filter((it, at, all) => it !== all[at - 1])

t.test('EN5 EN4: a shard gets ready, its engine is killed, and it gets ready again', async (t) => {
  const { dir, lifePath, live } = place(t)
  live({ loadMs: 500 })
  const lab = startShard(dir, shardSpec('r1'), lifePath)
  endAfter(t, lab)
  const first = await phase(lab, 'ready')
  t.same(phases(lab), ['looking', 'installing', 'fetching', 'starting', 'loading', 'ready'])
  t.same(lab.verdicts, ['proved'])
  await eventually('its counts', () => lab.seen.at(-1)?.running === 1)
  t.match(lab.seen.at(-1), { waiting: 0, compute: 'cpu', engineVersion: '1' })

  const killedAt = performance.now()
  process.kill(first.pid ?? 0, 'SIGKILL')
  const at = lab.seen.length
  const restarting = await phase(lab, 'restarting', at)
  t.match(restarting.reason, /signal 9/)
  live({})
  const second = await phase(lab, 'ready', at)
  t.comment(`ready again after ${Math.round(performance.now() - killedAt)} ms`)
  t.not(second.pid, first.pid)
  t.equal(second.restarts, 1)
})

t.test(
  'EN6 EN1: the key is in no argument and no log, and what holds it is closed to others',
  async (t) => {
    const { dir, lifePath } = place(t)
    const { key } = shardSpec('r1')
    const lab = startShard(dir, shardSpec('r1'), lifePath)
    endAfter(t, lab)
    const { pid } = await phase(lab, 'ready')
    t.notOk(readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(key))
    t.notOk(readFileSync(join(dir, 'r1/log'), 'utf8').includes(key))
    for (const name of ['record.json', 'shard.json', 'log']) {
      t.equal(statSync(join(dir, 'r1', name)).mode & 0o777, 0o600, name)
    }
    t.equal(statSync(join(dir, 'r1')).mode & 0o777, 0o700)
    const environment = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').filter(Boolean)
    t.same(environment.map((it) => it.split('=')[0]).sort(), [
      'HOME',
      'LANG',
      'LLAMA_API_KEY',
      'LLMGW_PROCESS',
      'OMP_WAIT_POLICY',
      'PATH',
      'PWD',
      'TMPDIR',
    ])
  },
)

t.test(
  'EN4: an engine that always crashes is failed with its last lines, without the key',
  async (t) => {
    const { dir, lifePath, live } = place(t)
    live({ dies: { code: 1, text: 'gguf_init: invalid magic characters' } })
    const lab = startShard(dir, shardSpec('r1'), lifePath)
    endAfter(t, lab)
    const failed = await phase(lab, 'failed')
    t.match(failed.reason, /not a GGUF file.*exited with code 1/)
    t.match(failed.reason, /invalid magic characters \(key \[redacted\]\)/)
    t.equal(failed.restarts, 0, 'a permanent reason is not tried again')
  },
)

t.test('an engine that dies by signal 4 before it was ready is refused for this CPU', async (t) => {
  const { dir, lifePath, live } = place(t)
  live({ diesBy: 'SIGILL' })
  const lab = startShard(dir, shardSpec('r1'), lifePath)
  endAfter(t, lab)
  t.match((await phase(lab, 'failed')).reason, /another CPU/)
  t.same(lab.verdicts, ['refused'])
})

t.test('EN2: an agent that is killed finds its engine again: same pid, port and key', async (t) => {
  const { dir, lifePath, live } = place(t)
  live({ loadMs: 700 })
  const program = fileURLToPath(new URL('../support/agent.js', import.meta.url))
  const agent = spawn(process.execPath, [program, dir, 'r1', lifePath], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const said: ShardStatus[] = []
  createInterface(agent.stdout).on('line', (line) => said.push(JSON.parse(line)))
  const { pid, port } = await eventually(
    'loading',
    () => said.find((it) => it.phase === 'loading'),
    10_000,
  )
  agent.kill('SIGKILL')

  const lab = startShard(dir, shardSpec('r1'), lifePath)
  endAfter(t, lab)
  t.match(await phase(lab, 'ready'), { pid, port, restarts: 0 })
  t.same(phases(lab), ['looking', 'ready'])

  const at = lab.seen.length
  process.kill(pid ?? 0, 'SIGKILL')
  await phase(lab, 'restarting', at)
  const next = await eventually('another engine', () =>
    lab.seen.slice(at).find((it) => it.phase === 'ready' && it.pid !== pid),
  )
  t.type(next.pid, 'number')
})

/** The engine with waits that a test can wait for. */
const impatient = (): Engine => ({
  ...llamacpp,
  stalledAfterMs: () => 300,
  token: { ...llamacpp.token, withinMs: 300 },
})

t.test(
  'EN4: an engine that is healthy but computes nothing for its requests is replaced',
  async (t) => {
    const { dir, lifePath, live } = place(t)
    const lab = startShard(dir, shardSpec('r1'), lifePath, { engineOf: impatient })
    endAfter(t, lab)
    const first = await phase(lab, 'ready')
    await eventually('its counts', () => lab.seen.at(-1)?.running === 1)
    live({ frozen: true })
    t.equal((await fetch(`http://127.0.0.1:${first.port}/health`)).status, 200)
    const { reason } = await phase(lab, 'restarting')
    t.match(reason, /^The engine has made no progress with its requests for \d+ s and then not one/)
    const at = lab.seen.length
    live({})
    const second = await phase(lab, 'ready', at)
    t.equal(statOf(first.pid ?? 0), null, 'the wedged one is gone')
    t.not(second.pid, first.pid)
    t.equal(second.restarts, 1)
  },
)

t.test('an engine whose progress stands but that makes the token is left alone', async (t) => {
  const { dir, lifePath, live } = place(t)
  live({ standing: true })
  const lab = startShard(dir, shardSpec('r1'), lifePath, { engineOf: impatient })
  endAfter(t, lab)
  const { pid } = await phase(lab, 'ready')
  const tokens = () => readFileSync(join(dir, 'r1/log'), 'utf8').match(/made one token/g)?.length
  await eventually('two tokens', () => (tokens() ?? 0) >= 2, 10_000)
  t.match(lab.seen.at(-1), { phase: 'ready', pid, restarts: 0 })
})

t.test('EN2: an adopted engine that computes nothing is replaced too', async (t) => {
  const { dir, lifePath, live } = place(t)
  const earlier = startShard(dir, shardSpec('r1'), lifePath)
  const { pid } = await phase(earlier, 'ready')
  await earlier.system.stop()
  live({ frozen: true })
  const lab = startShard(dir, shardSpec('r1'), lifePath, { engineOf: impatient })
  endAfter(t, lab)
  t.match(await phase(lab, 'ready'), { pid, restarts: 0 })
  t.match((await phase(lab, 'restarting')).reason, /not one token/)
  live({})
  await eventually('another engine', () =>
    lab.seen.find((it) => it.phase === 'ready' && it.pid !== pid),
  )
})

t.test('a stop ends an engine that ignores SIGTERM, and leaves nothing', async (t) => {
  const { dir, lifePath, live } = place(t)
  live({ ignoresTerm: true })
  const lab = startShard(dir, shardSpec('r1'), lifePath)
  endAfter(t, lab)
  const { pid } = await phase(lab, 'ready')
  const stoppedAt = performance.now()
  lab.ref.tell({ type: 'stop' })
  await eventually('the end of the shard', () => !lab.ref.tell({ type: 'stop' }), 15_000)
  t.comment(`ended after ${Math.round(performance.now() - stoppedAt)} ms`)
  t.equal(statOf(pid ?? 0), null)
  t.notOk(existsSync(join(dir, 'r1')))
})

t.test('another definition of the same replica replaces the running engine', async (t) => {
  const { dir, lifePath } = place(t)
  const lab = startShard(dir, shardSpec('r1'), lifePath)
  endAfter(t, lab)
  const first = await phase(lab, 'ready')
  const at = lab.seen.length
  lab.ref.tell({ type: 'start', spec: shardSpec('r1', 'sk-llmgw-other-key') })
  const second = await phase(lab, 'ready', at)
  t.not(second.pid, first.pid)
  t.equal(readRun(join(dir, 'r1'))?.spec.env['LLAMA_API_KEY'], 'sk-llmgw-other-key')
})

t.test('a port that somebody takes just before the start is no crash', async (t) => {
  const { dir, lifePath } = place(t)
  const lab = startShard(dir, shardSpec('r1'), lifePath)
  endAfter(t, lab)
  const { port } = await eventually('a port', () => lab.seen.find((it) => it.port !== null), 10_000)
  const server = createServer().listen({ host: '127.0.0.1', port: port ?? 0 })
  server.on('error', () => {}) // the engine was quicker
  t.teardown(() => server.close())
  const ready = await phase(lab, 'ready')
  t.equal(ready.restarts, 0)
})
