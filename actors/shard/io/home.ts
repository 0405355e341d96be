// The private folders of engines; each is owned by the user that its engine runs as.
import { chmodSync, chownSync, lstatSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Place } from '../protocol.ts'

/** As many as a node has shards. */
const maxUsers = 512

/**
 * The folder `dir/replica`, made where it is missing, and the id that owns it: the smallest from
 * `firstUid` on that owns no other folder in `dir`, or this program's own where that is null. A
 * folder of another owner is made anew.
 */
export function makeHome(
  dir: string,
  replica: string,
  firstUid: number | null,
): Pick<Place, 'homeDir' | 'user'> {
  mkdirSync(dir, { recursive: true })
  chmodSync(dir, 0o711) // whatever the umask: engines enter it, and see no neighbours
  const owners = new Map(readdirSync(dir).map((it) => [it, lstatSync(join(dir, it)).uid]))
  const before = owners.get(replica)
  const uid = firstUid === null ? null : userOf(replica, owners, firstUid)
  const homeDir = join(dir, replica)
  if (before !== undefined && before !== (uid ?? process.getuid?.())) {
    rmSync(homeDir, { recursive: true })
  }
  mkdirSync(homeDir, { recursive: true, mode: 0o700 })
  if (uid === null) return { homeDir }
  chownSync(homeDir, uid, uid)
  return { homeDir, user: { uid, gid: uid } }
}

function userOf(replica: string, owners: ReadonlyMap<string, number>, firstUid: number): number {
  const own = owners.get(replica) ?? -1
  if (own >= firstUid && own < firstUid + maxUsers) return own
  const taken = new Set(owners.values())
  for (let uid = firstUid; uid < firstUid + maxUsers; uid += 1) if (!taken.has(uid)) return uid
  throw new Error(`all ${maxUsers} users from ${firstUid} on have an engine`)
}
