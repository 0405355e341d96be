// Reads limits out of the files of cgroups, version 1 and 2: the smallest over a group and all above it.

type Version = 1 | 2
type Controller = 'memory' | 'cpu'

/** Folders of one controller's groups, this process's own first; empty where there is none. */
export type Groups = { version: Version; folders: readonly string[] }

/** From the texts of /proc/self/cgroup and /proc/self/mountinfo. In a mixed system version 1 has the controllers that it mounts. */
export function groupsOf(controller: Controller, cgroup: string, mountinfo: string): Groups {
  const mounts = mountinfo.split('\n').flatMap(mountIn)
  const own = cgroup.split('\n').map((line) => {
    const [, controllers = '', ...path] = line.split(':')
    return { controllers: controllers.split(','), path: path.join(':') }
  })
  const first = mounts.find((it) => it.type === 'cgroup' && it.options.includes(controller))
  const firstPath = own.find((it) => it.controllers.includes(controller))?.path
  if (first && firstPath !== undefined) {
    return { version: 1, folders: foldersUp(first, firstPath) }
  }
  const second = mounts.find((it) => it.type === 'cgroup2')
  const secondPath = own.find((it) => it.controllers[0] === '')?.path
  return {
    version: 2,
    folders: second && secondPath !== undefined ? foldersUp(second, secondPath) : [],
  }
}

type Mount = { root: string; point: string; type: string; options: string[] }

/** One line of mountinfo: `id parent device root point options [fields] - type source superoptions`. */
function mountIn(line: string): Mount[] {
  const [before = '', after = ''] = line.split(' - ')
  const [, , , root, point] = before.split(' ')
  const [type, , options] = after.split(' ')
  if (root === undefined || point === undefined || type === undefined) return []
  return [{ root, point, type, options: options?.split(',') ?? [] }]
}

/** A mount of a container shows only what is below its root, which the path may name or not. */
function foldersUp({ root, point }: Mount, path: string): string[] {
  const prefix = root === '/' ? '' : root
  const below = path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : ''
  const names = below.split('/').filter((name) => name !== '' && name !== '..')
  return names
    .map((_, depth) => `${point}/${names.slice(0, names.length - depth).join('/')}`)
    .concat(point)
}

/** The files to read in each folder. */
export const filesOf = {
  1: {
    quota: ['cpu.cfs_quota_us', 'cpu.cfs_period_us'],
    memory: ['memory.limit_in_bytes'],
    used: ['memory.usage_in_bytes', 'memory.stat'],
  },
  2: {
    quota: ['cpu.max'],
    memory: ['memory.max', 'memory.high'],
    used: ['memory.current', 'memory.stat'],
  },
} as const

/** CPUs that the quota of one group gives, from the texts of its files; null without one. */
export function quotaIn(texts: readonly (string | null)[]): number | null {
  const [quota, period] = texts.flatMap((text) => text?.trim().split(/\s+/) ?? []).map(Number)
  if (quota === undefined || period === undefined) return null
  return quota > 0 && period > 0 ? quota / period : null // -1 and "max" mean none
}

/** The smallest of the limits in the texts, in bytes; null where none limits. */
export function memoryLimitIn(texts: readonly (string | null)[]): number | null {
  // version 1 writes the largest number of pages for "none"
  const limits = texts
    .map((text) => Number(text ?? Number.NaN))
    .filter((it) => it >= 0 && it < 2 ** 62)
  return limits.length > 0 ? Math.min(...limits) : null
}

/** Bytes in use that could not be freed at once: the page cache that nobody used lately does not count. */
export function memoryUsedIn([used, stat]: readonly (string | null)[]): number | null {
  if (!used) return null
  const cache = /^(?:total_)?inactive_file (\d+)$/gm
  const last = [...(stat ?? '').matchAll(cache)].at(-1)?.[1] // the total, where there is one, stands last
  return Math.max(0, Number(used) - Number(last ?? 0))
}
