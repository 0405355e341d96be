// Looks at this machine: each probe fails alone and costs only what it would have told.
import { statfs } from 'node:fs/promises'
import os from 'node:os'
import { execa } from 'execa'
import { messageOf } from '../../../../kernel/errors.ts'
import type { Hardware, Load } from '../../../../transport/contract/hardware.ts'
import type { Ports } from '../actor.ts'
import { type Cpu, cpuOfCpuinfo, cpuOfLscpu } from '../cpu.ts'
import { nvidiaGpus } from './gpus.ts'
import { cpuQuota, memoryLimits } from './limits.ts'
import { type Read, readBelow } from './read.ts'

/** It reads files of the kernel only: much longer means that it hangs. */
const lscpuWithinMs = 3000

export type Options = {
  /** The folder whose disk is told in the load. */
  dir: string
  warn(text: string): void
  /** What this program found wrong at its start, told with what the look finds. */
  warnings?: readonly string[]
  /** Where /proc and /sys are, for tests. */
  root?: string
}

export function hardwarePorts({ dir, warn, warnings = [], root = '/' }: Options): Ports {
  const read = readBelow(root)
  return { probe: () => probe(root, read, warnings), sample: () => sample(dir, read), warn }
}

async function probe(root: string, read: Read, atStart: readonly string[]): Promise<Hardware> {
  const warnings = atStart.map((it) => it.slice(0, 500))
  /** What a probe tells, or what stands for not knowing it. */
  const told = async <T>(what: string, unknown: T, look: () => Promise<T>): Promise<T> => {
    try {
      return await look()
    } catch (error) {
      warnings.push(`${what} cannot be read: ${messageOf(error)}`.slice(0, 500))
      return unknown
    }
  }
  const cpu = await told('the CPU (lscpu)', null, () => cpuByLscpu())
  const more = cpuOfCpuinfo((await read('/proc/cpuinfo')) ?? '')
  const quota = await told('the CPU quota', null, () => cpuQuota(read))
  const limit = await told(
    'the memory limit',
    null,
    async () => (await memoryLimits(read)).limitBytes,
  )
  const total = await told('the memory', os.totalmem(), () => meminfoBytes(read, 'MemTotal'))
  const network = await told('the network', [], () => networkOf(read))
  const nvidia = await told('NVIDIA cards', { gpus: [], warning: null }, () =>
    nvidiaGpus(root, read),
  )
  if (nvidia.warning !== null) warnings.push(nvidia.warning)
  const threads = Math.max(1, os.cpus().length)
  const known: Cpu = cpu ?? more
  return {
    hostname: os.hostname(),
    os: /^PRETTY_NAME="?([^"\n]+)/m.exec((await read('/etc/os-release')) ?? '')?.[1] ?? os.type(),
    kernel: os.release(),
    architecture: os.arch(),
    cpu: {
      ...known,
      model: known.model?.slice(0, 200) ?? null,
      flags: (known.flags.length > 0 ? known.flags : more.flags).slice(0, 400),
      threads,
      usable: Math.min(os.availableParallelism(), quota ?? Number.POSITIVE_INFINITY),
    },
    memoryBytes: Math.min(total, limit ?? Number.POSITIVE_INFINITY),
    network: network.slice(0, 256),
    gpus: nvidia.gpus.slice(0, 64),
    warnings,
  }
}

async function sample(dir: string, read: Read): Promise<Load> {
  const { bavail, blocks, bsize } = await statfs(dir)
  const available = await meminfoBytes(read, 'MemAvailable')
  const { leftBytes } = await memoryLimits(read)
  return {
    memoryAvailableBytes: Math.min(available, leftBytes ?? Number.POSITIVE_INFINITY),
    diskFreeBytes: bavail * bsize,
    diskTotalBytes: blocks * bsize,
  }
}

async function cpuByLscpu(): Promise<Cpu> {
  const { stdout } = await execa('lscpu', ['--json', '--bytes'], {
    timeout: lscpuWithinMs,
    stdin: 'ignore',
    env: { LC_ALL: 'C' },
  })
  return cpuOfLscpu(stdout)
}

async function meminfoBytes(read: Read, name: 'MemTotal' | 'MemAvailable'): Promise<number> {
  const text = (await read('/proc/meminfo')) ?? ''
  const kibibytes = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1]
  if (kibibytes === undefined) throw new Error(`/proc/meminfo has no ${name}`)
  return Number(kibibytes) * 1024
}

async function networkOf(read: Read): Promise<Hardware['network']> {
  const network: Hardware['network'] = []
  for (const [name, addresses] of Object.entries(os.networkInterfaces())) {
    // many drivers say -1 for a speed that they do not know
    const speed = Number((await read(`/sys/class/net/${name}/speed`)) ?? -1)
    for (const { address, internal, scopeid } of addresses ?? []) {
      if (internal || scopeid) continue // an address of one link leads nowhere without its name
      network.push({ name, address, speedMbit: speed > 0 ? speed : null })
    }
  }
  return network
}
