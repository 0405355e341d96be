// Runs programs as a user without rights, and tells what such a user cannot reach.
import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { realpathSync } from 'node:fs'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { LlmgwError } from '../../../kernel/errors.ts'
import type { User } from '../protocol.ts'
import { markerName, markerValueOf } from '../record.ts'
import { hasMarker, sendSignal } from './identity.ts'
import { isMissing } from './record.ts'

/** For a shell that does next to nothing; on a machine that swaps this takes seconds. */
const trialWithinMs = 10_000

/** Stands before a program and its arguments, which then run as the user, in the same process. */
export const asUser = ({ uid, gid }: User): string[] => [
  'setpriv',
  `--reuid=${uid}`,
  `--regid=${gid}`,
  '--clear-groups',
  '--no-new-privs',
  // setpriv keeps root's rights until it has started a program, so it would start one that the user may not even see
  ...['/bin/sh', '-c', 'exec "$@"', 'sh'],
]

const firstClosed = `
  right=$1 path=$2
  shift 2
  for folder; do
    [ -x "$folder" ] || { printf %s "$folder"; exit; }
  done
  [ "-$right" "$path" ] || printf %s "$path"
`

/** What keeps the user from reading a file (`r`), or from running it or entering it (`x`), with the remedy; null if nothing does. Throws where there is no such file. */
export async function barrier(user: User, path: string, right: 'r' | 'x'): Promise<string | null> {
  const folders = [...foldersAbove(path), ...foldersAbove(realpathSync(path))]
  const [program = '', ...args] = [...asUser(user), '/bin/sh', '-c', firstClosed, 'sh']
  try {
    const { stdout } = await promisify(execFile)(program, [...args, right, path, ...folders], {
      timeout: trialWithinMs,
    })
    if (stdout === '') return null
    const needed = stdout === path ? right : 'x'
    const verb = needed === 'r' ? 'read' : 'enter or run'
    return `user ${user.uid} may not ${verb} ${stdout} (\`chmod o+${needed} ${stdout}\` lets it)`
  } catch (cause) {
    throw isMissing(cause) ? setprivMissing() : cause
  }
}

function foldersAbove(path: string): string[] {
  const folder = dirname(path)
  return folder === path ? [] : [...foldersAbove(folder), folder]
}

/** Why processes of the user cannot be kept from here; null where one was started, recognized and ended. Throws where that is not known. */
export async function trial(user: User): Promise<string | null> {
  const [program = '', ...args] = [...asUser(user), '/bin/sh', '-c', 'echo; read -r _']
  const launch = { spec: { name: 'trial' }, token: randomBytes(16).toString('hex') }
  const child = spawn(program, args, {
    env: { ...process.env, [markerName]: markerValueOf(launch) },
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: trialWithinMs,
    killSignal: 'SIGKILL',
  })
  let said = ''
  child.stderr.on('data', (text) => {
    said += text
  })
  const closed = once(child, 'close')
  try {
    await Promise.race([once(child.stdout, 'data'), closed])
    if (child.signalCode !== null) throw new Error('a trial to run a program as a user hung')
    if (child.exitCode !== null) {
      await closed
      return said.trim() || 'a program cannot be started as another user'
    }
    const { pid } = child
    if (pid === undefined || !hasMarker(pid, launch)) {
      return 'what belongs to other users in /proc cannot be read (CAP_SYS_PTRACE is missing)'
    }
    if (sendSignal(pid, 'SIGKILL')) return null
    return 'processes of other users cannot be ended (CAP_KILL is missing)'
  } catch (error) {
    if (isMissing(error)) return setprivMissing().message
    throw error
  } finally {
    child.stdin.destroy() // which ends it, too
  }
}

const setprivMissing = (): LlmgwError =>
  new LlmgwError('LLMGW_TOOL_MISSING', {
    tool: 'setpriv',
    remedy: 'install the package util-linux',
  })
