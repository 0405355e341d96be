#!/usr/bin/env node
// The command `llmgw`: reads its arguments, hands them to a verb, and turns errors into one line and an exit code.
import { readFileSync } from 'node:fs'
import { Command, CommanderError } from 'commander'
import { LlmgwError, messageOf } from '../kernel/errors.ts'
import { defaultDir } from './instance.ts'
import { err } from './output.ts'
import { addCtl } from './verbs/ctl.ts'
import { addDown } from './verbs/down.ts'
import { addStatus } from './verbs/status.ts'
import { addUp } from './verbs/up.ts'

const { version } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
) as { version: string }

/** Exit codes: 0 done, 1 it failed, 2 the command line is wrong. */
const program = new Command('llmgw')
  .description('One private AI service out of a group of Linux machines.')
  .version(version)
  .option('--dir <folder>', 'data folder of the instance', defaultDir())
  .addHelpText(
    'after',
    `
Examples:
  llmgw up                        start everything and ask a small model a question
  llmgw up -d --json              the same in the background; prints endpoint and key
  llmgw status                    what runs
  llmgw ctl models add phi.gguf   serve another model
  llmgw down                      end everything`,
  )
  .showHelpAfterError('(llmgw --help shows what there is)')
  .exitOverride()
  .configureOutput({ writeErr: (text) => process.stderr.write(text) })

// Whoever reads may go first, as `tee` does at Ctrl-C: what is said then is lost, and nothing else is.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})

const dir = (command: Command): string => command.optsWithGlobals<{ dir: string }>().dir
for (const add of [addUp, addDown, addStatus, addCtl]) add(program, dir)
for (const command of program.commands) inherit(command)

try {
  await program.parseAsync()
} catch (error) {
  process.exitCode = exitCode(error)
}
// The NATS client leaves a socket open whose server never spoke, and a command must not wait for that.
process.exit()

/** Every verb takes --dir, wherever it stands, and reports errors the same way. */
function inherit(command: Command): void {
  command.exitOverride().showHelpAfterError('(--help shows what there is)')
  for (const child of command.commands) inherit(child)
}

function exitCode(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  err(`error: ${messageOf(error)}`)
  if (error instanceof Error && !(error instanceof LlmgwError)) {
    err(`${error.stack ?? ''}\nThis is a fault of llmgw.`)
  }
  return 1
}
