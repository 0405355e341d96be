// `llmgw up`: brings up everything on this machine, asks a model a question, and keeps it all running.
import { spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Command } from 'commander'
import { z } from 'zod'
import { LlmgwError, messageOf } from '../../kernel/errors.ts'
import { type Layout, layout, makeFolders } from '../instance.ts'
import { err, out } from '../output.ts'
import { positive } from './ctl.ts'
import { run, type UpOptions } from './up/run.ts'
import { type Info, infoSchema } from './up/seed.ts'

/** What a detached `up` tells the one that started it. */
const reportSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('line'), text: z.string() }),
  z.object({ type: z.literal('ready'), info: infoSchema }),
  z.object({ type: z.literal('failed'), text: z.string() }),
])
type Report = z.infer<typeof reportSchema>

export function addUp(program: Command, dir: (command: Command) => string): void {
  program
    .command('up')
    .description('start everything on this machine, ask a model a question, and keep it running')
    .option('-d, --detach', 'return once it answers, and leave it running')
    .option('--json', 'with -d: print one line of JSON with endpoint, key, model and dir')
    .option('--host <address>', 'address of the endpoint (default 127.0.0.1)')
    .option('--port <number>', 'port of the endpoint (default 8700)', positive)
    .option('--model <source>', 'a preset, an https address or the path of a .gguf file')
    .option(
      '--nats-server <path>',
      'a nats-server to use instead of the one on PATH or the pinned one',
    )
    .addHelpText(
      'after',
      `
Ctrl-C ends everything in order. A kill of this command alone ends nothing: run it again and it
takes over what still runs.

Examples:
  llmgw up --port 9000
  llmgw up --model /srv/models/qwen3-4b-q4_k_m.gguf
  llmgw up -d --json | tee instance.json`,
    )
    .action(async (options: UpOptions, command: Command) => {
      const paths = layout(dir(command))
      if (options.json === true && options.detach !== true) {
        throw new LlmgwError('LLMGW_INVALID_REQUEST', { problem: '--json goes with -d' })
      }
      if (options.detach === true) return await detached(paths, options)
      await foreground(paths, options)
    })
}

/** Starts `up` anew as a process of its own session, shows its progress, and leaves it once it answers. */
async function detached(paths: Layout, options: UpOptions): Promise<void> {
  makeFolders(paths)
  const log = openSync(paths.upLog, 'a', 0o600)
  const flags = Object.entries({
    host: options.host,
    port: options.port,
    model: options.model,
    'nats-server': options.natsServer,
  }).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, String(value)]))
  const child = spawn(
    process.execPath,
    [fileURLToPath(new URL('../llmgw.js', import.meta.url)), '--dir', paths.dir, 'up', ...flags],
    { detached: true, stdio: ['ignore', log, log, 'ipc'] },
  )
  closeSync(log)
  const say = options.json === true ? err : out
  const info = await new Promise<Info>((done, fail) => {
    child.once('error', fail)
    child.once('exit', (code) =>
      fail(
        new LlmgwError('LLMGW_PROGRAM_FAILED', {
          program: 'llmgw up',
          problem: `it ended with ${code}`,
          log: paths.upLog,
        }),
      ),
    )
    child.on('message', (message) => {
      const report = reportSchema.parse(message)
      if (report.type === 'line') say(report.text)
      else if (report.type === 'ready') done(report.info)
      else fail(new Error(report.text))
    })
    process.once('SIGINT', () => child.kill('SIGINT'))
  }).catch((error: unknown) => {
    if (error instanceof LlmgwError) throw error
    err(`error: ${messageOf(error)}`)
    process.exitCode = 1
    return null
  })
  child.removeAllListeners('exit')
  if (child.connected) child.disconnect()
  child.unref()
  if (info !== null && options.json === true) out(JSON.stringify(info))
}

/** The supervisor itself: returns when everything has ended. */
async function foreground(paths: Layout, options: UpOptions): Promise<void> {
  const report = (it: Report): void => {
    if (process.connected) process.send?.(it)
  }
  const line = (text: string): void => {
    out(text)
    report({ type: 'line', text })
  }
  try {
    await run(paths, options, { line, ready: (info) => report({ type: 'ready', info }) })
  } catch (error) {
    report({ type: 'failed', text: messageOf(error) })
    throw error
  }
}
