// A whole instance for a test: brought up by the command in a folder of its own, and ended with all its processes.
import { execFile } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { freePort as portFor } from '../../actors/shard/io/port.ts'
import { eventually } from './own-process.ts'

const run = promisify(execFile)
/** The command's program. */
export const llmgw = fileURLToPath(new URL('../../bin/llmgw.js', import.meta.url))

export type StatusView = {
  programs: { name: string; unit: string; pid: number | null }[]
  replicas: {
    replica: string
    model: string
    node: string
    state: string
    pid: number | null
    inFlight: number
    reason: string | null
  }[]
}

export type Instance = {
  dir: string
  endpoint: string
  key: string
  model: string
  port: number
  /** Runs the command on this instance; resolves with what it printed, whatever its exit code. */
  ctl(...args: string[]): Promise<Done>
  up(...args: string[]): Promise<void>
  status(): Promise<StatusView>
  pid(unit: string): Promise<number>
  enginePid(): Promise<number>
}

type Done = { code: number; stdout: string; stderr: string }

/** Runs `llmgw` with arguments; never throws for an exit code. */
export const command = (...args: string[]): Promise<Done> => commandIn({}, ...args)

/** The same with other variables in its environment. */
export async function commandIn(env: Record<string, string>, ...args: string[]): Promise<Done> {
  try {
    const options = { maxBuffer: 1 << 24, env: { ...process.env, ...env } }
    const done = await run(process.execPath, [llmgw, ...args], options)
    return { code: 0, ...done }
  } catch (error) {
    const it = error as { code?: number; stdout?: string; stderr?: string }
    return { code: it.code ?? -1, stdout: it.stdout ?? '', stderr: it.stderr ?? '' }
  }
}

export const freePort = (): Promise<number> => portFor('127.0.0.1', Math.random)

const seedFolders = ['artifacts', 'engines', 'models']
const cache = process.env['LLMGW_TEST_CACHE'] ?? join(homedir(), '.cache', 'llmgw-test')
/** What the first instance fetched, by folder. Another name than before: its Python is one that engines of other users can run. */
export const seed = join(cache, 'instance-2')

/** What an earlier instance fetched is linked into a new one, so that a test need not fetch it again. */
async function seedInto(dir: string): Promise<void> {
  if (existsSync(seed)) await run('cp', ['-al', ...seedFolders.map((it) => join(seed, it)), dir])
}

async function keepSeed(dir: string): Promise<void> {
  if (existsSync(seed)) return
  const partial = `${seed}.${process.pid}`
  await run('mkdir', ['-p', partial])
  await run('cp', ['-al', ...seedFolders.map((it) => join(dir, it)), partial])
  await run('mv', ['-T', partial, seed])
}

/** Brings an instance up and ends it with the test; nothing of it is left. */
export async function startInstance(t: Test, ...flags: string[]): Promise<Instance> {
  const dir = mkdtempSync(join(tmpdir(), 'llmgw-'))
  chmodSync(dir, 0o755) // engines run as users of their own where root tests
  const port = await freePort()
  await seedInto(dir)
  const ctl = (...args: string[]) => command('--dir', dir, ...args)
  t.teardown(async () => {
    const down = await ctl('down')
    if (down.code !== 0) t.comment(`down: ${down.stderr}`)
    rmSync(dir, { recursive: true, force: true })
  })
  const up = async (...more: string[]) => {
    const done = await ctl('up', '-d', '--json', '--port', String(port), ...more)
    if (done.code !== 0) throw new Error(`up ended with ${done.code}: ${done.stderr}`)
    return JSON.parse(done.stdout) as Pick<Instance, 'endpoint' | 'key' | 'model'>
  }
  const info = await up(...flags)
  await keepSeed(dir)
  const status = async () => JSON.parse((await ctl('status', '--json')).stdout) as StatusView
  return {
    dir,
    port,
    ...info,
    ctl,
    up: async (...more) => void (await up(...more)),
    status,
    pid: async (unit) => {
      const pid = (await status()).programs.find((it) => it.unit === unit)?.pid
      if (pid == null) throw new Error(`${unit} does not run`)
      return pid
    },
    enginePid: async () => {
      const pid = (await status()).replicas.find((it) => it.state === 'ready')?.pid
      if (pid == null) throw new Error('no replica is ready')
      return pid
    },
  }
}

/** `eventually` for what is asked of an instance. */
export const until = <T>(
  what: string,
  withinMs: number,
  check: () => Promise<T | null | undefined>,
): Promise<T> => eventually(what, check, withinMs)

/** One chat request; the status and the text. */
export async function chat(
  { endpoint, key, model }: Pick<Instance, 'endpoint' | 'key' | 'model'>,
  options: { stream?: boolean; maxTokens?: number; signal?: AbortSignal } = {},
): Promise<Response> {
  return fetch(`${endpoint}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model,
      messages: [{ role: 'user', content: 'Write a long story about a river.' }],
      max_tokens: options.maxTokens ?? 16,
      stream: options.stream ?? false,
    }),
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  })
}
