// The limits that cgroups put on this process, and what of them is left.
import { filesOf, type Groups, groupsOf, memoryLimitIn, memoryUsedIn, quotaIn } from '../cgroup.ts'
import type { Read } from './read.ts'

/** CPUs by quota; null without one. */
export async function cpuQuota(read: Read): Promise<number | null> {
  const { version, folders } = await groups('cpu', read)
  const quotas: number[] = []
  for (const folder of folders) {
    const quota = quotaIn(await texts(read, folder, filesOf[version].quota))
    if (quota !== null) quotas.push(quota)
  }
  return quotas.length > 0 ? Math.min(...quotas) : null
}

/** Bytes that all groups together allow, and bytes that are left below the tightest; null without a limit. */
export async function memoryLimits(
  read: Read,
): Promise<{ limitBytes: number | null; leftBytes: number | null }> {
  const { version, folders } = await groups('memory', read)
  const limits: number[] = []
  const left: number[] = []
  for (const folder of folders) {
    const limit = memoryLimitIn(await texts(read, folder, filesOf[version].memory))
    if (limit === null) continue
    limits.push(limit)
    const used = memoryUsedIn(await texts(read, folder, filesOf[version].used))
    if (used !== null) left.push(Math.max(0, limit - used))
  }
  return {
    limitBytes: limits.length > 0 ? Math.min(...limits) : null,
    leftBytes: left.length > 0 ? Math.min(...left) : null,
  }
}

async function groups(controller: 'cpu' | 'memory', read: Read): Promise<Groups> {
  const [cgroup, mountinfo] = [await read('/proc/self/cgroup'), await read('/proc/self/mountinfo')]
  return groupsOf(controller, cgroup ?? '', mountinfo ?? '')
}

const texts = (read: Read, folder: string, names: readonly string[]): Promise<(string | null)[]> =>
  Promise.all(names.map((name) => read(`${folder}/${name}`)))
