// The settings of a program that a supervisor starts: `--config FILE`, `--print-config`, `--some.setting=VALUE`.
import { parseArgs } from 'node:util'
import type { z } from 'zod'
import { printConfig, readConfig } from '../kernel/config.ts'
import { messageOf } from '../kernel/errors.ts'

/** Reads them, or says on standard error what is wrong and ends the process with exit code 2. With `--print-config` it prints them and ends it with 0. */
export function settings<T extends z.ZodType>(program: string, schema: T): z.output<T> {
  try {
    const { config: file, 'print-config': isPrinted, ...flags } = flagsOf(process.argv.slice(2))
    const { config, sources } = readConfig(schema, {
      program,
      env: process.env,
      flags,
      ...(typeof file === 'string' ? { file } : {}),
    })
    if (!isPrinted) return config
    process.stdout.write(printConfig(config, sources))
    process.exit(0)
  } catch (thrown) {
    process.stderr.write(`${program}: ${messageOf(thrown)}\n`)
    process.exit(2)
  }
}

function flagsOf(args: string[]): Record<string, unknown> {
  const { values } = parseArgs({
    args,
    options: { config: { type: 'string' }, 'print-config': { type: 'boolean' } },
    strict: false,
  })
  return values
}
