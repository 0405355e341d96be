// A node's agent as it is wired in earnest, on a bus in memory, with parts that have everything at once.
import { join } from 'node:path'
import type { Message as FilesMessage } from '../../actors/node/files/protocol.ts'
import type { Part } from '../../actors/node/protocol.ts'
import type { Message as ProvisionMessage } from '../../actors/node/provision/protocol.ts'
import { type Agent, startAgent } from '../../bin/agent.ts'
import type { Behaviour } from '../../kernel/actor.ts'
import { systemClock } from '../../kernel/clock.ts'
import { createLogger } from '../../kernel/log.ts'
import { stay } from '../../kernel/step.ts'
import { type System, startSystem } from '../../kernel/system.ts'
import type { Bus } from '../../transport/bus.ts'
import type { Hardware } from '../../transport/contract/hardware.ts'
import { fakeLlama } from './shard-lab.ts'

export const nodeName = 'n1'
export const boot = 'b1'

/** Does `act` at its start and `take` with each message. */
const simple = <M>(act: () => void, take: (message: M) => void): Behaviour<unknown, M, unknown> =>
  ({
    init: () => [null, [act]],
    transition: (state: null, message: M) => {
      take(message)
      return stay(state)
    },
    perform: (effect: () => void) => effect(),
  }) as unknown as Behaviour<unknown, M, unknown>

const hardware = {
  hostname: 'n1',
  os: 'Debian',
  kernel: '6',
  architecture: 'x64',
  cpu: {
    model: null,
    sockets: null,
    cores: null,
    threads: 2,
    usable: 2,
    numaNodes: null,
    l3Bytes: null,
    flags: [],
  },
  memoryBytes: 1,
  network: [],
  gpus: [],
  warnings: [],
} satisfies Hardware
const load = { memoryAvailableBytes: 1, diskFreeBytes: 1, diskTotalBytes: 1 }

export type NodeLab = { system: System; agent: Agent }

/** `lifePath` says how the fake engines live. */
export function startNode(dir: string, bus: Promise<Bus>, lifePath: string): NodeLab {
  const system = startSystem({ clock: systemClock })
  const argv = [process.execPath, fakeLlama, lifePath] as const
  const file = { key: 'k', path: '/smol.gguf', sizeBytes: 1, sha256: null, header: null }
  const agent = startAgent({
    system,
    log: createLogger({ name: 'test', level: 'silent' }),
    identity: { node: nodeName, boot, pid: process.pid, version: '0.1.0', address: '127.0.0.1' },
    bus,
    runDir: join(dir, 'run'),
    homesDir: join(dir, 'homes'),
    users: null,
    parts: {
      hardware: (tell: (part: Part) => void) =>
        simple<never>(
          () => {
            tell({ type: 'hardware', hardware })
            tell({ type: 'load', load })
          },
          () => {},
        ),
      files: (tell) =>
        simple<FilesMessage>(
          () => tell({ type: 'files', files: [] }),
          (it) => it.type === 'fetch' && it.replyTo({ type: 'done', file }),
        ),
      provision: (tell) =>
        simple<ProvisionMessage>(
          () => tell({ type: 'installs', installs: [] }),
          (it) =>
            it.type === 'ensure' &&
            it.replyTo({ type: 'ready', engine: it.engine, version: '1', argv }),
        ),
    },
  })
  return { system, agent }
}
