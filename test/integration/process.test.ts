// Keeps real processes: adoption after the keeper's death, identity, the stop ladder and failures to start.
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { readBootId, statOf } from '../../actors/process/io/identity.ts'
import { processPorts, readRun } from '../../actors/process/io/ports.ts'
import type { Exit, ProcessSpec } from '../../actors/process/protocol.ts'
import { eventually, scriptSpec, temporaryFolder } from '../support/own-process.ts'

const keeperProgram = fileURLToPath(new URL('../support/keeper.js', import.meta.url))
type Said = { event: string; pid?: number; code?: number | null; text?: string }

/** Starts the keeper program; `said` grows with what it tells. */
function keep(dir: string, spec: ProcessSpec) {
  const child = spawn(process.execPath, [keeperProgram, dir, JSON.stringify(spec)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const said: Said[] = []
  createInterface(child.stdout).on('line', (line) => said.push(JSON.parse(line) as Said))
  const event = (name: string) =>
    eventually(`the keeper says ${name}`, () => said.find((it) => it.event === name))
  return { said, event, kill: () => child.kill('SIGKILL') }
}

/** Ports in this process, with the ends that they told. */
function slot(test: Tap.Test, dir: string) {
  const ends: Exit[] = []
  const warnings: string[] = []
  const ports = processPorts({ dir, log: { warn: (_, text) => void warnings.push(text) } })
  test.teardown(() => ports.release())
  const onEnd = (exit: Exit): void => void ends.push(exit)
  return {
    ends,
    warnings,
    ports,
    look: () => ports.look(onEnd),
    launch: (spec: ProcessSpec) => ports.launch(spec, onEnd),
    ended: () => eventually('the end is told', () => ends.at(-1)),
  }
}
declare namespace Tap {
  type Test = { teardown(act: () => void | Promise<void>): void }
}

function folder(test: Tap.Test): string {
  const { dir, remove } = temporaryFolder()
  const run = join(dir, 'run')
  test.teardown(async () => {
    const ends: Exit[] = []
    const ports = processPorts({ dir: run, log: { warn: () => {} } })
    if ((await ports.look((exit) => ends.push(exit))) !== undefined) {
      ports.end()
      await eventually('the end of what the test left', () => ends.at(-1), 10_000)
    }
    remove()
  })
  return run
}

const isRunning = (pid: number): boolean => statOf(pid) !== null

t.test(
  'EN2 EN1: a process outlives its keeper, is adopted with its pid, and its end is noticed',
  async (t) => {
    const dir = folder(t)
    const spec = scriptSpec('echo up; exec sleep 1000')
    const first = keep(dir, spec)
    const { pid = 0 } = await first.event('launched')
    first.kill()
    const second = keep(dir, spec)
    t.teardown(second.kill)
    t.equal((await second.event('adopted')).pid, pid)
    t.ok(isRunning(pid))
    const killedAt = performance.now()
    process.kill(pid, 'SIGKILL')
    const ended = await second.event('ended')
    const tookMs = Math.round(performance.now() - killedAt)
    t.comment(`the end was noticed after ${tookMs} ms`)
    t.equal(ended.code, 137, 'with the exit code that its shim noted')
    t.ok(tookMs < 2000, 'sooner than the next look')
    t.equal(statSync(join(dir, 'log')).mode & 0o777, 0o600)
    t.equal(statSync(join(dir, 'record.json')).mode & 0o777, 0o600)
  },
)

t.test(
  'EN2: a living process that is not proven to be ours is neither adopted nor killed',
  async (t) => {
    const dir = folder(t)
    const stranger = spawn('sleep', ['1000'], { stdio: 'ignore' })
    t.teardown(() => stranger.kill('SIGKILL'))
    const pid = stranger.pid ?? 0
    const startTicks = statOf(pid)?.startTicks ?? 0
    const write = (change: object): void => {
      mkdirSync(dir, { recursive: true })
      const record = {
        version: 1,
        spec: scriptSpec('exec sleep 1000'),
        token: '0'.repeat(32),
        bootId: readBootId(),
        startedAt: 0,
        process: { pid, startTicks },
        ...change,
      }
      writeFileSync(join(dir, 'record.json'), JSON.stringify(record))
    }
    const cases = {
      'without our marker': {},
      'with another start time': { process: { pid, startTicks: startTicks - 1 } },
      'of another boot': { bootId: 'before' },
    }
    for (const [title, change] of Object.entries(cases)) {
      write(change)
      const { look, warnings } = slot(t, dir)
      t.equal(await look(), undefined, title)
      t.equal(readRun(dir)?.alive, false)
      t.equal(warnings.length, title === 'of another boot' ? 0 : 1)
      t.ok(isRunning(pid))
    }
  },
)

t.test('a record that cannot be understood is an error, never "nothing runs"', async (t) => {
  const dir = folder(t)
  mkdirSync(dir, { recursive: true })
  writeFileSync(join(dir, 'record.json'), '{"version":2}')
  await t.rejects(slot(t, dir).look(), { code: 'LLMGW_RECORD_UNREADABLE' })
  writeFileSync(join(dir, 'record.json'), '{}')
  t.throws(() => readRun(dir), { code: 'LLMGW_RECORD_UNREADABLE' })
  execFileSync('rm', [join(dir, 'record.json')])
})

t.test(
  'a process whose shim was killed is adopted; its exit code is unknown, never 0',
  async (t) => {
    const dir = folder(t)
    const one = slot(t, dir)
    const pid = await one.launch(scriptSpec('exec sleep 1000'))
    one.ports.release()
    process.kill(Number(execFileSync('ps', ['-o', 'pgid=', '-p', String(pid)])), 'SIGKILL')
    const two = slot(t, dir)
    t.equal((await two.look())?.pid, pid)
    process.kill(pid, 'SIGTERM')
    t.same(await two.ended(), { code: null, reason: 'ended; nobody saw its exit code' })
  },
)

t.test(
  'EN3: what a process leaves behind, in a session of its own too, ends with it',
  async (t) => {
    const dir = folder(t)
    const left = join(dir, 'left')
    const one = slot(t, dir)
    await one.launch(
      scriptSpec(`setsid sh -c 'echo $$ >${left}; exec sleep 1000' & sleep 0.2; exit 3`),
    )
    t.equal((await one.ended()).code, 3)
    t.notOk(isRunning(Number(readFileSync(left, 'utf8'))))
  },
)

t.test(
  'EN3: what a process left behind while nobody watched is ended before another is started',
  async (t) => {
    const dir = folder(t)
    const left = join(dir, 'left')
    const one = slot(t, dir)
    await one.launch(scriptSpec(`setsid sh -c 'echo $$ >${left}; exec sleep 1000' & sleep 0.1`))
    one.ports.release()
    const pid = await eventually(
      'the child',
      () => existsSync(left) && (Number(readFileSync(left, 'utf8')) || undefined),
    )
    await eventually('the end of its parent', () => readRun(dir)?.alive === false)
    t.ok(isRunning(pid))
    const two = slot(t, dir)
    t.equal(await two.look(), undefined)
    t.notOk(isRunning(pid))
    await two.launch(scriptSpec('exit 0'))
    t.equal((await two.ended()).code, 0)
  },
)

t.test('a launch whose keeper was killed before it saw the pid is adopted', async (t) => {
  const dir = folder(t)
  const one = slot(t, dir)
  const pid = await one.launch(scriptSpec('exec sleep 1000'))
  one.ports.release()
  const record = JSON.parse(readFileSync(join(dir, 'record.json'), 'utf8'))
  const rewrite = (change: object): void =>
    writeFileSync(join(dir, 'record.json'), JSON.stringify({ ...record, ...change }))
  rewrite({ process: null })
  t.equal((await slot(t, dir).look())?.pid, pid)
  rewrite({ process: null, token: '0'.repeat(32) })
  await t.rejects(slot(t, dir).look(), { code: 'LLMGW_SLOT_TAKEN' }, 'held, and nobody noted a pid')
  process.kill(pid, 'SIGKILL')
  await eventually('its end', () => !isRunning(pid))
  t.equal(await slot(t, dir).look(), undefined)
})

t.test('EN1: a log past 64 MB is emptied in place', async (t) => {
  const dir = folder(t)
  mkdirSync(dir)
  writeFileSync(join(dir, 'log'), '')
  truncateSync(join(dir, 'log'), 65 * 1024 * 1024)
  const one = slot(t, dir)
  await one.launch(scriptSpec('exec sleep 1000'))
  await eventually('an empty log', () => statSync(join(dir, 'log')).size === 0)
  t.pass('it was emptied')
})

t.test('two keepers that race for one slot never start two processes', async (t) => {
  const dir = folder(t)
  const count = join(dir, 'count')
  mkdirSync(dir)
  for (let round = 0; round < 50; round += 1) {
    const racers = [slot(t, dir), slot(t, dir)]
    const spec = scriptSpec(`echo up >>${count}; exec sleep 1000`)
    const results = await Promise.allSettled(racers.map((it) => it.launch(spec)))
    const won = results.findIndex((it) => it.status === 'fulfilled')
    const lost = results[1 - won]
    if (lost?.status !== 'rejected') throw new Error(`two started in round ${round}`)
    if (lost.reason.code !== 'LLMGW_SLOT_TAKEN') throw lost.reason
    racers[won]?.ports.end()
    await racers[won]?.ended()
  }
  t.ok(readFileSync(count, 'utf8').split('\n').length <= 51)
})

t.test('a process that ignores SIGTERM gets the next signals of its spec', async (t) => {
  const one = slot(t, folder(t))
  const pid = await one.launch(
    scriptSpec('trap "" TERM; while :; do sleep 1000; done', [
      { signal: 'SIGTERM', afterMs: 0, to: 'process' },
      { signal: 'SIGKILL', afterMs: 300, to: 'group' },
    ]),
  )
  const endedAt = performance.now()
  one.ports.end()
  await one.ended()
  t.ok(performance.now() - endedAt >= 295)
  t.notOk(isRunning(pid))
})

t.test('a launch that is under way can be ended', async (t) => {
  const one = slot(t, folder(t))
  const launch = one.launch(scriptSpec('exec sleep 1000'))
  one.ports.end()
  const pid = await launch
  t.equal((await one.ended()).code, 143)
  t.notOk(isRunning(pid))
})

t.test('a keeper that lets go during a launch leaves the process to the next one', async (t) => {
  const dir = folder(t)
  const one = slot(t, dir)
  const launch = one.launch(scriptSpec('exec sleep 1000'))
  one.ports.release()
  const pid = await launch
  const two = slot(t, dir)
  t.equal((await two.look())?.pid, pid)
  process.kill(pid, 'SIGKILL')
  await two.ended()
  t.same(one.ends, [])
})

t.test('a process that ends at once is told as started and ended', async (t) => {
  const one = slot(t, folder(t))
  t.ok((await one.launch(scriptSpec('exit 7'))) > 0)
  t.same(await one.ended(), { code: 7, reason: 'exited with code 7' })
})

t.test('EN1: the log is appended over restarts', async (t) => {
  const dir = folder(t)
  for (const word of ['one', 'two']) {
    const one = slot(t, dir)
    await one.launch(scriptSpec(`echo ${word}; echo ${word} >&2`))
    await one.ended()
  }
  t.equal(readFileSync(join(dir, 'log'), 'utf8'), 'one\none\ntwo\ntwo\n')
})

t.test('a start that cannot be made fails with the reason', async (t) => {
  const dir = folder(t)
  const missing = { ...scriptSpec(''), argv: ['/nowhere/engine'] }
  await t.rejects(slot(t, dir).launch(missing), {
    code: 'LLMGW_LAUNCH_FAILED',
    message: /^\/nowhere\/engine could not be started: ENOENT/,
  })
  await t.rejects(slot(t, dir).launch({ ...scriptSpec(''), cwd: '/nowhere' }), {
    message: /\/nowhere/,
  })
  writeFileSync(join(dir, '..', 'file'), '')
  await t.rejects(slot(t, join(dir, '..', 'file')).launch(scriptSpec('')), {
    message: /cannot be written \(EEXIST/,
  })
})

t.test('a full disk fails a start with the reason', async (t) => {
  const { dir, remove } = temporaryFolder()
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4k', 'tmpfs', dir], { stdio: 'ignore' })
  } catch {
    remove()
    t.comment('skipped: a small tmpfs cannot be mounted here')
    return
  }
  t.teardown(() => {
    execFileSync('umount', [dir])
    remove()
  })
  writeFileSync(join(dir, 'fill'), 'x'.repeat(4096))
  await t.rejects(slot(t, dir).launch(scriptSpec('')), { message: /ENOSPC/ })
})
