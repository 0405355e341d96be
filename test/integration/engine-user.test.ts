// Engines as users of their own: what they may reach, adoption, and what is said where they cannot start.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { processPorts } from '../../actors/process/io/ports.ts'
import { barrier, trial } from '../../actors/process/io/user.ts'
import type { Exit } from '../../actors/process/protocol.ts'
import { makeHome } from '../../actors/shard/io/home.ts'
import {
  canRead,
  onlyRightsOf,
  openFolder,
  rightsOf,
  skip,
  someone,
} from '../support/engine-user.ts'
import { eventually, scriptSpec } from '../support/own-process.ts'
import { fakeLlama, type ShardLab, startShard } from '../support/shard-lab.ts'
import { shardSpec } from '../support/shards.ts'

type Test = { teardown(act: () => unknown): void }

function slot(test: Test, dir: string) {
  const ends: Exit[] = []
  const ports = processPorts({ dir, log: { warn: () => {} } })
  test.teardown(() => ports.release())
  const onEnd = (exit: Exit): void => void ends.push(exit)
  return {
    ports,
    look: () => ports.look(onEnd),
    launch: (script: string) =>
      ports.launch({ ...scriptSpec(script), cwd: '/', user: someone }, onEnd),
    ended: () => eventually('the end is told', () => ends.at(-1)),
  }
}

t.test(
  'a process has the rights of its user and no others, and is adopted',
  { skip },
  async (t) => {
    const dir = join(openFolder(t), 'run')
    const one = slot(t, dir)
    const pid = await one.launch('echo up; exec sleep 1000')
    await eventually('its output', () => readFileSync(join(dir, 'log'), 'utf8') === 'up\n')
    t.same(rightsOf(pid), onlyRightsOf(someone))
    for (const name of ['record.json', 'log', 'slot', 'pid']) {
      t.notOk(await canRead(someone, join(dir, name)), name)
    }
    one.ports.release()
    const two = slot(t, dir)
    t.match(await two.look(), { pid, spec: { user: someone } })
    two.ports.end()
    t.equal((await two.ended()).code, 143, 'ended by its ladder')
  },
)

t.test('what a process of another user leaves behind ends with it (EN3)', { skip }, async (t) => {
  const dir = join(openFolder(t), 'run')
  const one = slot(t, dir)
  await one.launch('setsid sleep 1000 & exit 3')
  t.equal((await one.ended()).code, 3)
})

t.test('a program that its user cannot reach is not started', { skip }, async (t) => {
  const dir = openFolder(t)
  const closed = join(dir, 'closed')
  mkdirSync(closed, { mode: 0o700 })
  const program = join(closed, 'engine')
  writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 })
  const ports = processPorts({ dir: join(dir, 'run'), log: { warn: () => {} } })
  const spec = { ...scriptSpec(''), argv: [program], user: someone }
  await t.rejects(
    ports.launch(spec, () => {}),
    {
      code: 'LLMGW_LAUNCH_FAILED',
      message: `${program} could not be started: user 60900 may not enter or run ${closed} (\`chmod o+x ${closed}\` lets it).`,
    },
  )
  t.notOk(existsSync(join(dir, 'run')))
})

t.test(
  'what keeps a user from a file is the first of its path, links followed',
  { skip },
  async (t) => {
    const dir = openFolder(t)
    const closed = join(dir, 'closed')
    mkdirSync(closed)
    const file = join(closed, 'file')
    writeFileSync(file, '', { mode: 0o600 })
    t.match(await barrier(someone, file, 'r'), `chmod o+r ${file}`)
    chmodSync(file, 0o644)
    t.equal(await barrier(someone, file, 'r'), null)
    chmodSync(closed, 0o700)
    t.match(await barrier(someone, file, 'r'), `chmod o+x ${closed}`)
    symlinkSync(file, join(dir, 'link'))
    t.match(await barrier(someone, join(dir, 'link'), 'r'), `chmod o+x ${closed}`)
  },
)

t.test('without setpriv the reason names its package', { skip }, async (t) => {
  const path = process.env['PATH']
  process.env['PATH'] = t.testdir()
  t.teardown(() => {
    process.env['PATH'] = path
  })
  t.match(await trial(someone), /setpriv.*util-linux/)
  await t.rejects(barrier(someone, '/etc/passwd', 'r'), { code: 'LLMGW_TOOL_MISSING' })
})

t.test('each engine has a user that owns no other folder', { skip }, async (t) => {
  const dir = join(openFolder(t), 'homes')
  const uidOf = (replica: string): number | undefined => makeHome(dir, replica, 60_900).user?.uid
  t.same(['a', 'b', 'a'].map(uidOf), [60_900, 60_901, 60_900])
  t.equal(statSync(join(dir, 'b')).uid, 60_901)
  t.equal(statSync(join(dir, 'b')).mode & 0o777, 0o700)
  writeFileSync(join(dir, 'b', 'left'), '')
  t.same(makeHome(dir, 'b', null), { homeDir: join(dir, 'b') }, 'as the user of this program')
  t.notOk(existsSync(join(dir, 'b', 'left')), 'a folder of another owner is made anew')
})

/** Fakes run only where every user can read this checkout and Node. */
const outOfReach = skip || (await barrier(someone, fakeLlama, 'r')) || false
const users = {
  firstUid: 60_900,
  barrier: (user: typeof someone, path: string) => barrier(user, path, 'r'),
}
const phase = (lab: ShardLab, wanted: string) =>
  eventually(`phase ${wanted}`, () => lab.seen.find((it) => it.phase === wanted), 10_000)

function endAfter(test: Test, lab: ShardLab): void {
  test.teardown(async () => {
    lab.ref.tell({ type: 'stop' })
    await eventually('the end of the shard', () => !lab.ref.tell({ type: 'stop' }), 15_000)
    await lab.system.stop()
  })
}

t.test(
  'engines side by side have users of their own, and see their model but not each other',
  { skip: outOfReach },
  async (t) => {
    const dir = openFolder(t)
    const modelPath = join(dir, 'm.gguf')
    writeFileSync(modelPath, '')
    const start = (replica: string): ShardLab => {
      const life = join(dir, 'life.json')
      const lab = startShard(join(dir, 'shards'), shardSpec(replica), life, { users, modelPath })
      endAfter(t, lab)
      return lab
    }
    const [one, two] = [start('r1'), start('r2')]
    const pids = [(await phase(one, 'ready')).pid ?? 0, (await phase(two, 'ready')).pid ?? 0]
    const [first, second] = pids.map((pid) => rightsOf(pid).uids[0] ?? 0)
    t.same([first, second].sort(), [60_900, 60_901])
    const user = { uid: first ?? 0, gid: first ?? 0 }
    t.ok(await canRead(user, modelPath))
    t.ok(await canRead(user, join(dir, 'shards-homes', 'r1')))
    for (const path of [
      'shards',
      'shards/r1/record.json',
      'shards/r1/shard.json',
      'shards/r2/log',
      'shards-homes',
      'shards-homes/r2',
    ]) {
      t.notOk(await canRead(user, join(dir, path)), path)
    }
    t.notOk(await canRead(user, `/proc/${pids[1]}/environ`), 'which holds the key of the other')
    one.ref.tell({ type: 'stop' })
    await eventually('its folder is gone', () => !existsSync(join(dir, 'shards-homes', 'r1')))
  },
)

t.test(
  'a model that its engine may not read fails the replica with the remedy, before any start',
  { skip: outOfReach },
  async (t) => {
    const dir = openFolder(t)
    const modelPath = join(dir, 'm.gguf')
    writeFileSync(modelPath, '', { mode: 0o600 })
    const life = join(dir, 'life.json')
    const lab = startShard(join(dir, 'shards'), shardSpec('r1'), life, { users, modelPath })
    endAfter(t, lab)
    const { reason, restarts } = await phase(lab, 'failed')
    t.match(reason, `may not read its model ${modelPath}`)
    t.match(reason, `\`chmod o+r ${modelPath}\``)
    t.equal(restarts, 0)
    t.notOk(existsSync(join(dir, 'shards', 'r1', 'log')))
  },
)
