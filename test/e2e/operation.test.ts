// Operating one machine: whatever is interrupted, taken or gone meanwhile, the next command works.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { command, commandIn, freePort, llmgw, startInstance, until } from '../support/instance.ts'

const listening = (t: Test, port: number): Promise<Server> =>
  new Promise((done) => {
    const server = createServer().listen(port, '127.0.0.1', () => done(server))
    t.teardown(() => server.close())
  })

const pids = (it: { programs: { unit: string; pid: number | null }[] }) =>
  Object.fromEntries(it.programs.map(({ unit, pid }) => [unit, pid]))

t.test('`down` ends an `up` that still fetches, and its fetch', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'llmgw-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  const silent = await listening(t, 0)
  const address = silent.address()
  const port = typeof address === 'object' ? address?.port : 0
  const asked = once(silent, 'connection')
  const up = spawn(
    process.execPath,
    [llmgw, '--dir', dir, 'up', '--port', String(await freePort())],
    {
      env: {
        ...process.env,
        PATH: '/usr/bin:/bin',
        PIP_INDEX_URL: `http://127.0.0.1:${port}/simple`,
      },
      stdio: 'ignore',
    },
  )
  const ended = once(up, 'exit')
  await asked
  const startedAt = performance.now()
  t.equal((await command('--dir', dir, 'down')).code, 0)
  await ended
  t.ok(performance.now() - startedAt < 10_000, 'at once')
})

t.test('after its supervisor was killed', async (t) => {
  const instance = await startInstance(t)
  const { dir } = instance
  const supervisor = (): number =>
    JSON.parse(readFileSync(join(dir, 'run/up/lock.holder'), 'utf8')).pid
  const killed = async (): Promise<void> => {
    const pid = supervisor()
    process.kill(pid, 'SIGKILL')
    await until('it is gone', 5_000, async () => (existsSync(`/proc/${pid}/exe`) ? null : true))
  }

  await t.test('EN2: from another shell everything is adopted as it runs', async (t) => {
    const before = await instance.status()
    const engine = await instance.enginePid()
    await killed()
    const again = await commandIn(
      { PATH: `/nowhere:${process.env['PATH']}` },
      '--dir',
      dir,
      'up',
      '-d',
    )
    t.equal(again.code, 0, again.stderr)
    t.same(pids(await instance.status()), pids(before))
    t.equal(await instance.enginePid(), engine)
  })
  await t.test(
    'EN2: an agent of another configuration is replaced, its engines are adopted',
    async (t) => {
      const agent = await instance.pid('node')
      const engine = await instance.enginePid()
      await killed()
      const again = await commandIn({ NO_PROXY: 'example.test' }, '--dir', dir, 'up', '-d')
      t.equal(again.code, 0, again.stderr)
      t.not(await instance.pid('node'), agent)
      t.equal(await instance.enginePid(), engine)
    },
  )
})

t.test('an instance in operation', async (t) => {
  const instance = await startInstance(t)
  const { dir } = instance
  await t.test('what cannot be done to what runs says what can', async (t) => {
    const other = await instance.ctl('up', '-d', '--port', '1')
    t.equal(other.code, 1)
    t.match(other.stderr, /already running.*llmgw down/)
    const none = await instance.ctl('ctl', 'models', 'add')
    t.equal(none.code, 1)
    t.match(none.stderr, /source or a file with --definition/)
  })
  await t.test('a store that is frozen holds no command', async (t) => {
    const store = await instance.pid('nats-server')
    process.kill(store, 'SIGSTOP')
    const status = await instance.ctl('status')
    process.kill(store, 'SIGCONT')
    t.match(status.stderr, /replicas are not known/)
    t.match(status.stdout, /nats-server +nats-server +\d+/)
  })
  await t.test('the port of the store may be taken while nothing runs', async (t) => {
    t.equal((await instance.ctl('down')).code, 0)
    const { natsPort } = parse(readFileSync(join(dir, 'machine.yaml'), 'utf8'))
    await listening(t, natsPort)
    await instance.up()
    t.match(await instance.status(), { replicas: [{ state: 'ready' }] })
    t.equal((await instance.ctl('down')).code, 0)
  })
  await t.test('Ctrl-C ends everything though nobody reads any more', async (t) => {
    const up = spawn(process.execPath, [llmgw, '--dir', dir, 'up'], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const ended = once(up, 'exit')
    for await (const line of createInterface({ input: up.stdout })) {
      if (line.startsWith('curl')) break
    }
    up.stdout.destroy()
    up.stderr.destroy()
    up.kill('SIGINT')
    t.same(await ended, [0, null])
    t.ok(Object.values(pids(await instance.status())).every((pid) => pid === null))
  })
})
