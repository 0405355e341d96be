// The real engine of an instance that root started: its user, what it can read, and its adoption.
import { chmodSync, copyFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { canRead, onlyRightsOf, openFolder, rightsOf, skip } from '../support/engine-user.ts'
import { chat, startInstance, until } from '../support/instance.ts'

t.test('the engine runs as a user of its own', { skip }, async (t) => {
  const instance = await startInstance(t)
  const { dir } = instance
  const pid = await instance.enginePid()
  const uid = rightsOf(pid).uids[0] ?? 0
  const user = { uid, gid: uid }
  const replica = (await instance.status()).replicas[0]?.replica ?? ''
  const models = readdirSync(join(dir, 'models'), { recursive: true, encoding: 'utf8' })
  const model = join(dir, 'models', models.find((it) => it.endsWith('.gguf')) ?? '')

  await t.test('without rights beside those', async (t) => {
    t.ok(uid >= 60_600)
    t.same(rightsOf(pid), onlyRightsOf(user))
    t.equal((await chat(instance)).status, 200)
    t.notMatch((await instance.ctl('ctl', 'nodes')).stdout, /root/)
  })

  await t.test('it reads its model and nothing of the programs', async (t) => {
    t.ok(await canRead(user, model))
    const run = join('run', 'shards', replica)
    for (const path of [
      'identity',
      'credentials',
      'credentials/api-key',
      'config/node.yaml',
      'machine.yaml',
      'nats',
      'spool',
      'run/shards',
      'run/node/record.json',
      'run/node/log',
      ...['record.json', 'shard.json', 'log'].map((it) => join(run, it)),
      'homes',
    ]) {
      t.notOk(await canRead(user, join(dir, path)), path)
    }
    t.notOk(await canRead(user, `/proc/${await instance.pid('node')}/environ`))
  })

  await t.test('a killed agent adopts it (EN2)', async (t) => {
    const agent = await instance.pid('node')
    process.kill(agent, 'SIGKILL')
    await until('another agent', 20_000, async () => {
      const next = (await instance.status()).programs.find((it) => it.unit === 'node')?.pid
      return next != null && next !== agent ? next : null
    })
    await until('an adopted engine', 20_000, async () => {
      const { state, pid } = (await instance.status()).replicas[0] ?? {}
      return state === 'ready' ? pid : null
    })
    t.equal(await instance.enginePid(), pid)
    t.equal((await chat(instance)).status, 200)
  })

  await t.test('a model in a closed place is refused with the remedy', async (t) => {
    const closed = join(openFolder(t), 'closed.gguf')
    copyFileSync(model, closed)
    chmodSync(closed, 0o600)
    t.equal((await instance.ctl('ctl', 'models', 'add', closed)).code, 0)
    const why = await until('the reason', 30_000, async () => {
      const { stdout } = await instance.ctl('ctl', 'why', 'closed')
      return /may not read/.test(stdout) ? stdout : null
    })
    t.match(why, `chmod o+r ${closed}`)
  })

  await t.test('where no user can be used, the nodes say that and why', async (t) => {
    chmodSync(dir, 0o700)
    process.kill(await instance.pid('node'), 'SIGKILL')
    const nodes = await until('the warning', 20_000, async () => {
      const { stdout } = await instance.ctl('ctl', 'nodes')
      return /run as root/.test(stdout) ? stdout : null
    })
    t.match(nodes, `engines run as root, because user 60600 may not enter or run ${dir} `)
    chmodSync(dir, 0o755)
  })
})
