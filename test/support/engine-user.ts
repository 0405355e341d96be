// What tests of engines that run as users of their own share: whether they can run here, and what is told of a process.
import { execFile } from 'node:child_process'
import { chmodSync, readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { asUser, trial } from '../../actors/process/io/user.ts'
import type { User } from '../../actors/process/protocol.ts'
import { temporaryFolder } from './own-process.ts'

export const someone: User = { uid: 60_900, gid: 60_900 }

const hindrance =
  process.getuid?.() === 0 ? await trial(someone) : 'only root can run engines as other users'
/** For tap's `skip`: why such a test cannot run here. */
export const skip = hindrance ?? false

/** A folder that every user can enter, removed after the test. */
export function openFolder(t: { teardown(act: () => void): void }): string {
  const { dir, remove } = temporaryFolder()
  t.teardown(remove)
  chmodSync(dir, 0o755)
  return dir
}

/** What the kernel tells of a process: its user and group in each role, its other groups, and its rights. */
export function rightsOf(pid: number) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const field = (name: string): string[] =>
    (new RegExp(`^${name}:(.*)$`, 'm').exec(status)?.[1] ?? '').trim().split(/\s+/).filter(Boolean)
  return {
    uids: field('Uid').map(Number),
    gids: field('Gid').map(Number),
    groups: field('Groups'),
    hasNoNewPrivs: field('NoNewPrivs')[0] === '1',
    capabilities: BigInt(`0x${field('CapPrm')[0]}`) | BigInt(`0x${field('CapAmb')[0]}`),
  }
}

/** What a process has that runs as `user` and nothing more. */
export const onlyRightsOf = ({ uid, gid }: User): ReturnType<typeof rightsOf> => ({
  uids: [uid, uid, uid, uid],
  gids: [gid, gid, gid, gid],
  groups: [],
  hasNoNewPrivs: true,
  capabilities: 0n,
})

/** Whether the user can read a file or list a folder. */
export async function canRead(user: User, path: string): Promise<boolean> {
  const [program = '', ...args] = [...asUser(user), 'test', '-r', path]
  return promisify(execFile)(program, args).then(
    () => true,
    () => false,
  )
}
