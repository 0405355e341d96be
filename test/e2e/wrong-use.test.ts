// Wrong use of the command: each gets a clear error that names what to do, and nothing is left half done.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { command, freePort, startInstance, until } from '../support/instance.ts'

function emptyDir(t: Test): string {
  const dir = mkdtempSync(join(tmpdir(), 'llmgw-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

t.test(
  'a wrong flag or verb is refused with exit code 2, and the right one is offered',
  async (t) => {
    const flag = await command('up', '--prot', '9000')
    t.equal(flag.code, 2)
    t.match(flag.stderr, /unknown option '--prot'.*--port/s)
    const verb = await command('ctl', 'model')
    t.equal(verb.code, 2)
    t.match(verb.stderr, /unknown command 'model'.*models/s)
    const port = await command('up', '--port', 'x')
    t.equal(port.code, 2)
    t.match(port.stderr, /--port.*whole number/s)
    const json = await command('up', '--json', '--dir', emptyDir(t))
    t.equal(json.code, 1)
    t.match(json.stderr, /--json goes with -d/)
  },
)

t.test('help tells of every verb, with an example', async (t) => {
  for (const verb of [
    ['ctl', 'models', 'add'],
    ['ctl', 'why'],
    ['up'],
    ['ctl', 'keys', 'create'],
  ]) {
    const { code, stdout } = await command(...verb, '--help')
    t.equal(code, 0)
    t.match(stdout, /Examples?:/, verb.join(' '))
  }
})

t.test('where nothing runs, status and ctl say so and how to start it', async (t) => {
  const dir = emptyDir(t)
  const ctl = await command('--dir', dir, 'ctl', 'nodes')
  t.equal(ctl.code, 1)
  t.match(ctl.stderr, /Nothing runs .*llmgw up/)
  const status = await command('--dir', dir, 'status', '--json')
  t.equal(status.code, 1)
  t.ok(JSON.parse(status.stdout).programs.every((it: { pid: null }) => it.pid === null))
  t.match((await command('--dir', dir, 'down')).stderr, /Nothing runs/)
})

t.test('a port in use is named before anything starts', async (t) => {
  const dir = emptyDir(t)
  const port = await freePort()
  const other = createServer().listen(port, '127.0.0.1')
  t.teardown(() => other.close())
  const up = await command('--dir', dir, 'up', '-d', '--port', String(port))
  t.equal(up.code, 1)
  t.match(up.stderr, new RegExp(`Port ${port} on 127.0.0.1 is in use.*--port`))
  t.ok(
    JSON.parse((await command('--dir', dir, 'status', '--json')).stdout).programs.every(
      (it: { pid: null }) => it.pid === null,
    ),
  )
})

t.test('models that cannot be served say why, and what is served goes on', async (t) => {
  const instance = await startInstance(t)
  const why = (model: string, text: RegExp) =>
    until(`why ${model}`, 30_000, async () => {
      const { stdout } = await instance.ctl('ctl', 'why', model)
      return text.test(stdout) ? stdout : null
    })

  await t.test('one that cannot fit', async (t) => {
    const added = await instance.ctl(
      'ctl',
      'models',
      'add',
      'smollm2-135m',
      '--name',
      'huge',
      '--memory',
      '9999999',
    )
    t.equal(added.code, 0, added.stderr)
    t.match(await why('huge', /free/i), /needs .* has .* free/)
  })
  await t.test('a broken GGUF', async (t) => {
    const file = join(emptyDir(t), 'broken.gguf')
    writeFileSync(file, 'GGUF and then nothing that makes sense')
    await instance.ctl('ctl', 'models', 'add', file)
    t.match(await why('broken', /GGUF/), /broken.gguf/)
  })
  await t.test('a file that is not there', async (t) => {
    await instance.ctl('ctl', 'models', 'add', '/no/such/file.gguf', '--name', 'nowhere')
    t.match(await why('nowhere', /no\/such\/file/), /no such file/)
  })
  await t.test(
    'a name that is taken, a model that is not there, a source that is none',
    async (t) => {
      const taken = await instance.ctl('ctl', 'models', 'add', 'smollm2-135m')
      t.match(taken.stderr, /already/)
      t.match((await instance.ctl('ctl', 'models', 'remove', 'none')).stderr, /no model "none"/)
      t.match((await instance.ctl('ctl', 'models', 'add', 'phi')).stderr, /preset|address|path/)
      t.match((await instance.ctl('ctl', 'keys', 'revoke', 'none')).stderr, /no key "none"/)
      t.match((await instance.ctl('ctl', 'logs', 'none')).stderr, /no replica "none"/)
    },
  )
  t.ok((await instance.status()).replicas.some((it) => it.state === 'ready'))
})
