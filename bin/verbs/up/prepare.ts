// Makes an instance ready to start: its server, keys, ports and configurations, as specifications of programs.
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { stringify } from 'yaml'
import { fetchArtifact } from '../../../actors/node/files/io/fetch-artifact.ts'
import type { ProcessSpec } from '../../../actors/process/protocol.ts'
import { freePort, isTaken } from '../../../actors/shard/io/port.ts'
import { LlmgwError } from '../../../kernel/errors.ts'
import type { Role } from '../../../transport/contract/subjects.ts'
import { writeWhole } from '../../../transport/durable-file.ts'
import { createIdentity, engineSecretPath, issueCredentials } from '../../../transport/identity.ts'
import {
  checkNatsVersion,
  natsServerArtifacts,
  natsServerConfig,
  oldestNatsServer,
} from '../../../transport/nats-server.ts'
import { type Layout, type Memory, machineName, readMemory } from '../../instance.ts'
import { tail } from '../../output.ts'

export type Say = (subject: string, text: string, detail?: string) => void

/** How many router processes share the endpoint's port. */
const routers = 2
/** The programs in the order of their start: what each is called, and the unit that runs it. */
export const programNames: readonly { unit: string; program: string }[] = [
  { unit: 'nats-server', program: 'nats-server' },
  { unit: 'leader-1', program: 'llmgw-leader' },
  { unit: 'node', program: 'llmgw-node' },
  ...Array.from({ length: routers }, (_, index) => ({
    unit: `router-${index + 1}`,
    program: 'llmgw-router',
  })),
]
/** Where the store listens. */
const storeHost = '127.0.0.1'
/** After its first signal, a program that does not end is killed. */
const killAfterMs = 15_000
/** For a nats-server that prints its version; it does so within milliseconds. */
const versionWithinMs = 5_000
/** How long routers let running requests end. */
const drainMs = 5_000

/** The instance as remembered, or a new one; the endpoint's address is what was asked for, else what it was. A store that does not run gets another port where somebody else has taken its own. */
export async function instanceOf(
  paths: Layout,
  wanted: { host?: string; port?: number },
  storeRuns: boolean,
): Promise<Memory> {
  const before = readMemory(paths)
  const isKept = before !== null && (storeRuns || !(await isTaken(storeHost, before.natsPort)))
  return {
    version: 1,
    name: before?.name ?? machineName(),
    // outside the range from which the kernel gives ports to others, since it is kept over starts
    natsPort: isKept ? before.natsPort : await freePort(storeHost, Math.random),
    host: wanted.host ?? before?.host ?? '127.0.0.1',
    port: wanted.port ?? before?.port ?? 8700,
    seeded: before?.seeded ?? false,
    model: before?.model ?? null,
    keyId: before?.keyId ?? null,
  }
}

/** Throws LLMGW_PORT_IN_USE unless the endpoint's port can be had alone. The routers share it afterwards, so that they would not notice. */
export function checkPort(host: string, port: number): Promise<void> {
  return new Promise((done, fail) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) =>
      fail(
        error.code === 'EADDRINUSE'
          ? new LlmgwError('LLMGW_PORT_IN_USE', { host, port }, { cause: error })
          : new LlmgwError(
              'LLMGW_CONFIG_INVALID',
              { field: 'listen', source: '--host or --port', problem: error.message },
              { cause: error },
            ),
      ),
    )
    server.listen({ host, port, exclusive: true }, () => server.close(() => done()))
  })
}

/** Path of a nats-server that is new enough: the one configured or on PATH, else the pinned one, fetched if missing. */
export async function natsServer(
  paths: Layout,
  configured: string | undefined,
  { say, signal }: { say: Say; signal: AbortSignal },
): Promise<string> {
  for (const candidate of configured === undefined ? ['nats-server'] : [configured]) {
    const asked = await execa(candidate, ['--version'], { reject: false, timeout: versionWithinMs })
    if (asked.failed && configured !== undefined) {
      throw new LlmgwError('LLMGW_TOOL_MISSING', {
        tool: candidate,
        remedy: 'correct --nats-server',
      })
    }
    if (asked.failed) continue
    const path = await which(candidate)
    const version = checkNatsVersion(asked.stdout, path)
    if (version.ok) return path
    if (configured !== undefined) {
      throw new LlmgwError(version.error.code, version.error.details)
    }
    say(
      'nats-server',
      `${path} is passed over: ${asked.stdout.trim()}, older than ${oldestNatsServer}`,
    )
  }
  const platform = `${process.platform}-${process.arch}`
  const artifact = natsServerArtifacts.find((it) => it.platform === platform)
  if (artifact === undefined) {
    throw new LlmgwError('LLMGW_TOOL_MISSING', {
      tool: 'nats-server',
      remedy: `there is no pinned build for ${platform}: install one of ${oldestNatsServer} or newer, and name it with --nats-server`,
    })
  }
  const { path } = await fetchArtifact(artifact, {
    dir: join(paths.artifacts, 'nats-server', artifact.version),
    onProgress: (it) => say('nats-server', it.what, tail(it)),
    signal,
    wayOut: `name a nats-server of ${oldestNatsServer} or newer with --nats-server`,
  })
  return path
}

/** Absolute: the program is started in another folder. */
const which = async (command: string): Promise<string> =>
  resolve(
    command.includes('/')
      ? command
      : (await execa('sh', ['-c', 'command -v "$1"', 'sh', command])).stdout.trim(),
  )

/** Keys and configurations of all programs; the specifications in the order of their start. */
export async function programs(
  paths: Layout,
  memory: Memory,
  natsServer: string,
): Promise<ProcessSpec[]> {
  const identity = await createIdentity(paths.dir)
  const credentials = async (role: Role, name: string): Promise<string> => {
    const file = paths.credentialsOf(name)
    if (!existsSync(file)) writeWhole(file, await issueCredentials(identity, role, name))
    return file
  }
  await credentials('admin', 'admin')
  writeWhole(
    paths.natsConfig,
    natsServerConfig({
      name: memory.name,
      port: memory.natsPort,
      storeDir: paths.nats,
      trust: identity.trust,
    }),
  )
  const nats = async (role: Role, name: string) => ({
    url: `nats://${storeHost}:${memory.natsPort}`,
    credentialsFile: await credentials(role, name),
  })
  const leader = {
    version: 1,
    name: 'leader-1',
    nats: await nats('leader', 'leader-1'),
    engineSecretFile: engineSecretPath(paths.dir),
    // one leader and one server: whoever finds no lease here has just made the store
    freshStore: true,
  }
  const node = {
    version: 1,
    name: memory.name,
    nats: await nats('node', memory.name),
    dataDir: paths.dir,
  }
  const router = async (name: string) => ({
    version: 1,
    name,
    nats: await nats('router', name),
    listen: { host: memory.host, port: memory.port },
    engineSecretFile: engineSecretPath(paths.dir),
    drainMs,
  })
  return [
    {
      name: 'nats-server',
      argv: [natsServer, '-c', paths.natsConfig],
      env: environment(paths.natsConfig),
      cwd: paths.nats,
      stop: ladder('SIGTERM'),
    },
    program(paths, 'leader', 'leader-1', leader),
    program(paths, 'node', 'node', node),
    ...(await Promise.all(
      Array.from({ length: routers }, async (_, index) => {
        const name = `router-${index + 1}`
        return program(paths, 'router', name, await router(name))
      }),
    )),
  ]
}

const ladder = (signal: NodeJS.Signals): ProcessSpec['stop'] => [
  { signal, afterMs: 0, to: 'process' },
  { signal: 'SIGKILL', afterMs: killAfterMs, to: 'group' },
]

/** The digest of the configuration stands in the environment, so that a changed one shows as another specification. */
const environment = (config: string): Record<string, string> => ({
  PATH: process.env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin',
  HOME: process.env['HOME'] ?? '/',
  LANG: process.env['LANG'] ?? 'C.UTF-8',
  LLMGW_CONFIG_DIGEST: createHash('sha256').update(readFileSync(config)).digest('hex'),
  ...proxies(),
})

const proxies = (): Record<string, string> =>
  Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      value !== undefined && /^((https?|no|all)_proxy|PIP_.*|SSL_CERT_FILE)$/i.test(name)
        ? [[name, value]]
        : [],
    ),
  )

/** The environment that a program is started with reaches its tools: proxies and pip's settings go along. */
function program(paths: Layout, kind: string, name: string, config: object): ProcessSpec {
  const file = paths.configOf(name)
  writeWhole(file, stringify(config))
  return {
    name,
    argv: [
      process.execPath,
      fileURLToPath(new URL(`../../${kind}.js`, import.meta.url)),
      '--config',
      file,
    ],
    env: environment(file),
    cwd: paths.dir,
    stop: ladder('SIGINT'),
  }
}
