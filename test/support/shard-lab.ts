// A shard with its real process keeper, run folder and probes, and with neighbours that have everything at once.
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Message as FilesMessage } from '../../actors/node/files/protocol.ts'
import type { Message as ProvisionMessage } from '../../actors/node/provision/protocol.ts'
import { processKeeper } from '../../actors/process/actor.ts'
import { processPorts } from '../../actors/process/io/ports.ts'
import { shard } from '../../actors/shard/actor.ts'
import { shardPorts, type Users } from '../../actors/shard/io/ports.ts'
import type { Setting } from '../../actors/shard/phases.ts'
import type { Message, ShardSpec } from '../../actors/shard/protocol.ts'
import { engineByName } from '../../engines/index.ts'
import type { Ref } from '../../kernel/actor.ts'
import { systemClock } from '../../kernel/clock.ts'
import { type System, startSystem } from '../../kernel/system.ts'
import type { ShardStatus } from '../../transport/contract/node.ts'
import { specOf } from './actors.ts'

export const fakeLlama = fileURLToPath(new URL('./fake-llama.js', import.meta.url))

export type ShardLab = {
  system: System
  ref: Ref<Message>
  /** Every status that was said, in order. */
  seen: ShardStatus[]
  /** What the installer of engines was told beside wishes. */
  verdicts: string[]
  warnings: string[]
}

export type LabOptions = {
  engineOf?: Setting['engineOf']
  /** Whom engines run as, by default the test's user. */
  users?: Users | null
  /** Fake engines do not read it. */
  modelPath?: string
}

/** Starts an agent's part for one shard; `lifePath` is the fake engine's first argument. */
export function startShard(
  dir: string,
  spec: ShardSpec,
  lifePath: string,
  { engineOf = engineByName, users = null, modelPath = '/smol.gguf' }: LabOptions = {},
): ShardLab {
  const system = startSystem({ clock: systemClock })
  const [seen, verdicts, warnings]: [ShardStatus[], string[], string[]] = [[], [], []]
  const log = { warn: (_: object, text: string) => void warnings.push(text) }
  const argv = [process.execPath, fakeLlama, lifePath] as const
  const ports = shardPorts({
    dir,
    homesDir: `${dir}-homes`,
    users,
    host: '127.0.0.1',
    engineOf,
    path: '/usr/bin:/bin',
    log,
  })
  const behaviour = shard(
    {
      ...ports,
      provision: {
        tell(message: ProvisionMessage) {
          if (message.type === 'ensure') {
            message.replyTo({ type: 'ready', engine: message.engine, version: '1', argv })
          } else verdicts.push(message.type)
          return true
        },
      },
      files: {
        tell(message: FilesMessage) {
          if (message.type !== 'fetch') return false
          const file = { key: 'k', path: modelPath, sizeBytes: 1, sha256: null, header: null }
          message.replyTo({ type: 'done', file })
          return true
        },
      },
      process: (replica, tell) =>
        specOf(
          'process',
          processKeeper(
            processPorts({ dir: join(dir, replica), log }),
            { intensity: 0, periodMs: 1, delayMs: { min: 0, max: 0 } },
            tell,
          ),
        ),
    },
    spec,
    ({ status }) => void seen.push(status),
  )
  const ref = system.spawn(specOf('shard', behaviour, { restart: 'temporary' }))
  return { system, ref, seen, verdicts, warnings }
}
