// llama.cpp installed for real, started by its launcher, asked once, and stopped; with a model fetched for real.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { filesPorts } from '../../actors/node/files/io/ports.ts'
import { provisionPorts } from '../../actors/node/provision/io/ports.ts'
import type { Ready } from '../../actors/node/provision/protocol.ts'
import { asUser } from '../../actors/process/io/user.ts'
import { freePort } from '../../actors/shard/io/port.ts'
import type { Probe } from '../../engines/engine.ts'
import { llamacpp } from '../../engines/llamacpp.ts'
import { smollm2 } from '../../engines/presets/smollm2-135m.ts'
import { present } from '../../kernel/assert.ts'
import type { LlmgwError } from '../../kernel/errors.ts'
import { skip as noUsers, someone } from '../support/engine-user.ts'

const quiet = (): void => {}
const noWarning = (text: string): void => void t.fail(text)
/** Kept between runs, so that a run does not fetch two hundred megabytes. */
const cache = join(homedir(), '.cache', 'llmgw-test')
const request = { engine: 'llamacpp', forms: llamacpp.installs.slice(0, 1), refused: [] }

const model = await filesPorts(join(cache, 'models'))
  .fetch(smollm2.artifact, quiet)
  .catch((error: Error) => error)
// as a crash in the middle of an install leaves it
const home = join(cache, 'engines', 'llamacpp-2026.10.11549')
mkdirSync(home, { recursive: true })
rmSync(join(home, 'installed'), { force: true })
writeFileSync(join(home, 'left-over'), '')
const built = await provisionPorts({ dir: join(cache, 'engines'), warn: noWarning })
  .install(request, quiet)
  .catch((error: Error) => error)
const missing = [model, built].find((it) => it instanceof Error)
const skip = missing ? `the Python index is not reachable: ${missing.message}` : false

t.test(
  'the preset is fetched, and its header is the one in its definition',
  { skip },
  async (t) => {
    if (model instanceof Error) throw model
    t.equal(model.sha256, smollm2.artifact.sha256)
    t.equal(model.sizeBytes, smollm2.artifact.sizeBytes)
    t.same(model.header, smollm2.header)
  },
)

t.test('EN9: an environment without its marker is made anew', { skip }, async (t) => {
  if (built instanceof Error) throw built
  t.notOk(existsSync(join(home, 'left-over')))
  t.ok(existsSync(join(home, 'installed')))
  t.equal(built.version, 'xllamacpp 2026.10.11549')
  t.equal(statSync(built.argv[0]).mode & 0o555, 0o555, 'others may run it')
  const made = statSync(join(home, 'installed')).mtimeMs
  t.same(
    await provisionPorts({ dir: join(cache, 'engines'), warn: noWarning }).install(request, quiet),
    built,
  )
  t.equal(statSync(join(home, 'installed')).mtimeMs, made, 'what is there is not installed again')
})

t.test(
  'EN5, EN6: it loads, is ready under its alias, answers with its key and ends',
  { skip },
  async (t) => {
    const engine = await start(t, built)
    await engine.ready()
    t.equal(engine.seen[0], 'starting')
    const question = { messages: [{ role: 'user', content: 'Say hello.' }], max_tokens: 8 }
    const post = (path: string, body: object, key = 'secret') =>
      fetch(`${engine.url}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    const chat = (key: string) => post('/v1/chat/completions', question, key)
    t.equal((await chat('wrong')).status, 401)
    const answer = (await (await chat('secret')).json()) as { model: string; usage: object }
    t.match(answer, { model: 'smol', usage: { completion_tokens: Number } })
    const before = llamacpp.progress(await (await engine.get('/slots')).text())
    const { path, body, made } = llamacpp.token
    const token = await post(path, body('smol'))
    t.ok(made({ met: 'answer', status: token.status, body: await token.text() }), 'one token')
    const after = llamacpp.progress(await (await engine.get('/slots')).text())
    t.type(after, 'number')
    t.not(after, before, 'which shows in its progress')
    const metrics = await (await engine.get('/metrics')).text()
    t.same(llamacpp.load(metrics), { running: 0, waiting: 0 })
    t.ok(
      (await rssBytes(engine.child)) <
        llamacpp.memoryBytes(present(smollm2.header, 'header'), { contextTokens: 512, slots: 2 }),
    )
    engine.child.kill('SIGTERM')
    t.same(await engine.end, [0, null])
  },
)

t.test('a signal while the model loads ends it at once', { skip }, async (t) => {
  const engine = await start(t, built)
  while ((await engine.look()) !== 'loading') await setTimeout(5)
  const before = performance.now()
  engine.child.kill('SIGTERM')
  await engine.end
  t.ok(performance.now() - before < 10_000)
})

t.test('the second signal ends it whatever still runs', { skip }, async (t) => {
  const engine = await start(t, built)
  await engine.ready()
  const stream = await fetch(`${engine.url}/v1/completions`, {
    method: 'POST',
    headers: { authorization: 'Bearer secret', 'content-type': 'application/json' },
    body: JSON.stringify({ prompt: 'Once', max_tokens: 400, stream: true, ignore_eos: true }),
  })
  const reader = present(stream.body, 'body').getReader()
  await reader.read()
  engine.child.kill('SIGTERM')
  // the first one stops the work, and then waits, or not, for whoever still listens
  await Promise.race([engine.end, setTimeout(300)])
  const before = performance.now()
  engine.child.kill('SIGTERM')
  const end = await engine.end
  t.ok(end[0] === 0 || end[1] === 'SIGTERM', `ended with ${end}`)
  t.ok(performance.now() - before < 5000)
  await reader.cancel().catch(() => {}) // kept until here: one that is forgotten hangs up
})

t.test('a start that fails says why in words that the description knows', { skip }, async (t) => {
  const dir = t.testdir({ 'broken.gguf': 'no model' })
  for (const [path, reason] of [
    [join(dir, 'broken.gguf'), /not a GGUF/],
    [join(dir, 'absent.gguf'), /cannot be opened/],
  ] as const) {
    const engine = await start(t, built, path)
    t.same(await engine.end, [1, null])
    t.match(
      llamacpp.logMarks.find(({ mark }) => mark.test(engine.log())),
      { reason, permanent: true },
    )
  }
})

t.test('a form that cannot be had is passed over, and the note says so', async (t) => {
  const dir = t.testdir({
    bin: { 'llama-server': '#!/bin/sh\necho "version: 1 (abc)" >&2\n' },
    e: {},
  })
  const program = join(dir, 'bin', 'llama-server')
  chmodSync(program, 0o755)
  const path = process.env['PATH']
  process.env['PATH'] = join(dir, 'bin')
  t.teardown(() => {
    process.env['PATH'] = path
  })
  const ports = provisionPorts({ dir: join(dir, 'e'), warn: noWarning })
  const ready = await ports.install({ ...request, forms: llamacpp.installs }, quiet)
  t.same(ready.argv, [program])
  t.equal(ready.version, 'llama-server version: 1 (abc)')
  t.match(ready.note, /python3 is not installed/)

  const refused = [
    { engine: 'llamacpp', version: ready.version, state: 'refused', reason: 'cpu' } as const,
  ]
  const error = await ports
    .install({ ...request, forms: llamacpp.installs, refused }, quiet)
    .catch((it: LlmgwError) => it)
  t.match(error, { code: 'LLMGW_INSTALL_FAILED', message: /python3.*is not used: cpu/ })
})

t.test('what engines cannot run as their user is no install', { skip: noUsers }, async (t) => {
  const dir = t.testdir({ bin: { 'llama-server': '#!/bin/sh\necho "version: 1"\n' } })
  const program = join(dir, 'bin', 'llama-server')
  chmodSync(program, 0o700)
  const path = process.env['PATH']
  process.env['PATH'] = `${join(dir, 'bin')}:${path}`
  t.teardown(() => {
    process.env['PATH'] = path
  })
  const forms = llamacpp.installs.slice(1)
  const install = (asUser?: readonly string[]) =>
    provisionPorts({ dir, ...(asUser && { asUser }), warn: noWarning }).install(
      { ...request, forms },
      quiet,
    )
  t.same((await install()).argv, [program])
  await t.rejects(install(asUser(someone)), { message: /llama-server.*Permission denied/s })
})

t.test('verdicts survive a restart, and a damaged list is said', async (t) => {
  const dir = t.testdir()
  const verdict = { engine: 'llamacpp', version: 'x 1', state: 'refused', reason: 'cpu' } as const
  const first = provisionPorts({ dir, warn: noWarning })
  t.same(await first.recall(), [])
  await Promise.all([first.remember([]), first.remember([verdict])])
  const warned: string[] = []
  const second = provisionPorts({ dir, warn: (text) => warned.push(text) })
  t.same(await second.recall(), [verdict])
  writeFileSync(join(dir, 'verdicts.json'), '{')
  t.same(await second.recall(), [])
  t.match(warned, [/verdicts\.json is damaged/])
  t.same(readdirSync(dir), ['verdicts.json'])
})

/** The engine as a shard would start it; ended with the test. */
async function start(
  t: { teardown(end: () => void): void },
  ready: Ready | Error,
  modelPath?: string,
) {
  if (ready instanceof Error) throw ready
  if (model instanceof Error) throw model
  const homeDir = mkdtempSync(join(tmpdir(), 'llmgw-engine-'))
  t.teardown(() => rmSync(homeDir, { recursive: true }))
  const port = await freePort('127.0.0.1', Math.random)
  const plan = {
    modelPath: modelPath ?? model.path,
    alias: 'smol',
    host: '127.0.0.1',
    port,
    key: 'secret',
    profile: { contextTokens: 512, slots: 2, cores: 1, memoryBytes: 1 },
    homeDir,
  }
  const { args, env } = llamacpp.start(plan)
  const child = spawn(ready.argv[0], [...ready.argv.slice(1), ...args], {
    env: { PATH: '/usr/bin:/bin', HOME: homeDir, ...env },
    cwd: homeDir,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const end = once(child, 'close')
  t.teardown(() => void child.kill('SIGKILL'))
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text
  })
  const url = `http://127.0.0.1:${port}`
  const get = (path: string): Promise<Response> =>
    fetch(url + path, { headers: { authorization: 'Bearer secret' } })
  const probe = (path: string): Promise<Probe> =>
    get(path).then(
      async (it): Promise<Probe> => ({ met: 'answer', status: it.status, body: await it.text() }),
      (): Probe => ({ met: 'refused' }),
    )
  const seen: string[] = []
  const look = async (): Promise<string> => {
    const state = llamacpp.readiness(await probe('/health'), await probe('/v1/models'), 'smol')
    if (seen.at(-1) !== state) seen.push(state)
    return state
  }
  const untilReady = async (): Promise<void> => {
    while ((await look()) !== 'ready') {
      if (child.exitCode !== null) throw new Error(log)
      await setTimeout(20)
    }
  }
  return { child, end, url, get, look, ready: untilReady, seen, log: () => log }
}

async function rssBytes(child: ChildProcess): Promise<number> {
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1024
}
