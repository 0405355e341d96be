// Finds an engine that the operator installed.
import { access, constants } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { execa } from 'execa'
import type { InstallForm } from '../../../../engines/engine.ts'
import type { Argv } from '../protocol.ts'

/** For a program that prints its version: some load their libraries from a slow disk first. */
const versionWithinMs = 10_000

/** The program with what it says of its version. Throws where it is not on PATH or does not run. */
export async function fromPath(
  form: Extract<InstallForm, { form: 'path' }>,
  asUser: readonly string[],
): Promise<{ version: string; argv: Argv }> {
  for (const dir of (process.env['PATH'] ?? '').split(delimiter).filter(Boolean)) {
    const path = join(dir, form.command)
    const there = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (!there) continue
    const options = { timeout: versionWithinMs, stdin: 'ignore', all: true } as const
    const [program = path, ...args] = [...asUser, path, ...form.versionArgs]
    const { all } = await execa(program, args, options)
    const line = all.split('\n').find((it) => /version/i.test(it)) ?? 'version unknown'
    return { version: `${form.command} ${line.trim()}`.slice(0, 100), argv: [path] }
  }
  throw new Error(`there is no ${form.command} on PATH`)
}
