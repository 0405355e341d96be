// One instance of llmgw on this machine: its data folder, what lies where in it, and what it remembers.
import { chmodSync, mkdirSync, readFileSync } from 'node:fs'
import { hostname, userInfo } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import { parse, stringify } from 'yaml'
import { z } from 'zod'
import { LlmgwError, messageOf } from '../kernel/errors.ts'
import { firstIssue } from '../transport/contract/problem.ts'
import { writeWhole } from '../transport/durable-file.ts'

/** Where an instance lies unless --dir says otherwise: for root `/var/lib/llmgw`, else XDG's folder of data. */
export function defaultDir(): string {
  if (process.getuid?.() === 0) return '/var/lib/llmgw'
  const named = process.env['XDG_DATA_HOME'] ?? ''
  // an empty HOME, as services have it, is none
  const home = process.env['HOME'] || userInfo().homedir
  return join(isAbsolute(named) ? named : join(home, '.local', 'share'), 'llmgw')
}

const memorySchema = z.strictObject({
  version: z.literal(1),
  /** The machine's name in subjects and records. */
  name: z.string(),
  natsPort: z.number().int().min(1).max(65535),
  host: z.string(),
  port: z.number().int().min(1).max(65535),
  /** The first model was added once; it is not added again when an operator removed it. */
  seeded: z.boolean(),
  /** Name of the model that `up` asks. */
  model: z.string().nullable(),
  keyId: z.string().nullable(),
})
export type Memory = z.infer<typeof memorySchema>

/** Paths of an instance; nothing is made or read here. */
export const layout = (dir: string) => {
  const at = (...parts: string[]): string => join(resolve(dir), ...parts)
  return {
    dir: at(),
    memory: at('machine.yaml'),
    identity: at('identity'),
    credentials: at('credentials'),
    credentialsOf: (name: string) => at('credentials', `${name}.creds`),
    apiKey: at('credentials', 'api-key'),
    config: at('config'),
    configOf: (name: string) => at('config', `${name}.yaml`),
    artifacts: at('artifacts'),
    nats: at('nats'),
    natsConfig: at('config', 'nats-server.conf'),
    models: at('models'),
    engines: at('engines'),
    run: at('run'),
    runOf: (name: string) => at('run', name),
    shards: at('run', 'shards'),
    lock: at('run', 'up', 'lock'),
    state: at('run', 'up', 'state.json'),
    upLog: at('run', 'up', 'log'),
    spool: at('spool'),
  } as const
}
export type Layout = ReturnType<typeof layout>

/** Makes the folders with their modes; what engines read can be entered by other users. */
export function makeFolders(paths: Layout): void {
  const open = [paths.models, paths.engines, paths.run, paths.artifacts]
  const { identity, credentials, config, nats, spool } = paths
  const closed = [identity, credentials, config, nats, spool, paths.runOf('up')]
  try {
    const isNew = mkdirSync(paths.dir, { recursive: true }) !== undefined
    if (isNew) chmodSync(paths.dir, 0o755) // whatever the umask; the mode of one that was there is its owner's
    for (const [mode, folders] of [
      [0o755, open],
      [0o700, closed],
    ] as const) {
      for (const path of folders) {
        mkdirSync(path, { recursive: true })
        chmodSync(path, mode)
      }
    }
  } catch (error) {
    throw new LlmgwError(
      'LLMGW_FOLDER_UNUSABLE',
      { path: paths.dir, problem: messageOf(error) },
      { cause: error },
    )
  }
}

/** What the instance remembers; null where there is none yet. */
export function readMemory(paths: Layout): Memory | null {
  let text: string
  try {
    text = readFileSync(paths.memory, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw new LlmgwError('LLMGW_FOLDER_UNUSABLE', { path: paths.dir, problem: messageOf(error) })
  }
  const source = paths.memory
  let value: unknown
  try {
    value = parse(text)
  } catch (error) {
    const problem = `this is not YAML: ${messageOf(error)}`
    throw new LlmgwError('LLMGW_CONFIG_INVALID', { field: '(whole)', source, problem })
  }
  const parsed = memorySchema.safeParse(value)
  if (parsed.success) return parsed.data
  throw new LlmgwError('LLMGW_CONFIG_INVALID', { ...firstIssue(parsed.error), source })
}

export function writeMemory(paths: Layout, memory: Memory): void {
  writeWhole(
    paths.memory,
    `# Written by llmgw up; what this instance remembers.\n${stringify(memory)}`,
  )
}

/** The machine's name as one token of a subject. */
export const machineName = (): string =>
  hostname()
    .split('.')[0]
    ?.replace(/[^A-Za-z0-9_-]/g, '-')
    .slice(0, 40) || 'node'
