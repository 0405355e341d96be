// A node as the leader sees one: it registers, reports, and obeys commands, without any process.
import { fileKey } from '../../actors/node/files/protocol.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Bus } from '../../transport/bus.ts'
import type { Hardware } from '../../transport/contract/hardware.ts'
import type { Header } from '../../transport/contract/model.ts'
import {
  type Command,
  commandSchema,
  type NodeFile,
  registeredSchema,
  type ShardStatus,
} from '../../transport/contract/node.ts'
import { subjects } from '../../transport/contract/subjects.ts'

export const GiB = 2 ** 30

export const hardwareOf = (memoryBytes = 8 * GiB, cores = 4): Hardware => ({
  hostname: 'simulated',
  os: 'Debian',
  kernel: '6',
  architecture: 'x64',
  cpu: {
    model: null,
    sockets: 1,
    cores,
    threads: cores,
    usable: cores,
    numaNodes: 1,
    l3Bytes: null,
    flags: [],
  },
  memoryBytes,
  network: [],
  gpus: [],
  warnings: [],
})

/** SmolLM2-135M's, as its file tells. */
export const smallHeader: Header = {
  architecture: 'llama',
  weightsBytes: 95 * 2 ** 20,
  layers: 30,
  embeddingLength: 576,
  heads: 9,
  headsKv: 3,
  keyLength: 64,
  valueLength: 64,
  vocabulary: 49_152,
  trainContextTokens: 8192,
}

export const shardOf = (replica: string, more: Partial<ShardStatus> = {}): ShardStatus => ({
  replica,
  model: 'small',
  phase: 'ready',
  pid: 4711,
  host: '127.0.0.1',
  port: 4000,
  reason: null,
  progress: null,
  compute: 'cpu',
  engineVersion: null,
  running: 0,
  waiting: 0,
  restarts: 0,
  ...more,
})

export type SimulatedNode = {
  /** All commands so far but wishes to register, in order. */
  readonly commands: Command[]
  readonly shards: Map<string, ShardStatus>
  /** The fencing token that the leader told last. */
  readonly token: number
  stop(): void
}

/** Reports every `everyMs`. What it fetches has `header`; what it starts is ready at the next report. */
export function simulateNode(
  bus: Bus,
  clock: Clock,
  { node = bus.name, everyMs = 100, header = smallHeader, memoryBytes = 8 * GiB } = {},
): SimulatedNode {
  const boot = `boot-${node}-${Math.round(clock.wallMs())}`
  const commands: Command[] = []
  const shards = new Map<string, ShardStatus>()
  const files = new Map<string, NodeFile>()
  let token = 0
  let seq = 0
  const report = () => {
    seq += 1
    const load = {
      memoryAvailableBytes: memoryBytes,
      diskFreeBytes: 99 * GiB,
      diskTotalBytes: 99 * GiB,
    }
    const base = { kind: 'node', node, boot, seq, load } as const
    return { ...base, shards: [...shards.values()], files: [...files.values()] }
  }
  const register = async () => {
    const address = '127.0.0.1'
    const hardware = hardwareOf(memoryBytes)
    const body = { node, boot, pid: 1, version: '0', address, hardware, report: report() }
    const subject = subjects.svc('members', 'register', node)
    const answer = await bus.request(subject, body, registeredSchema, { withinMs: 1000 })
    if (answer.ok) token = answer.value.token
  }
  const obey = (command: Command) => {
    if (command.type === 'register') return void register()
    commands.push(command)
    if (command.type === 'stop') shards.delete(command.replica)
    if (command.type === 'fetch') {
      const key = fileKey(command.artifact)
      files.set(key, { key, sizeBytes: 1, sha256: null, header, failure: null })
    }
    if (command.type === 'start') {
      const { replica, model } = command
      if (!shards.has(replica))
        shards.set(replica, shardOf(replica, { model, port: 4000 + shards.size }))
    }
  }
  const listening = bus.subscribe(subjects.actAll(node, boot), (incoming) => {
    if (incoming.subject.includes('.logs.')) {
      return incoming.reply({ ok: true, value: { lines: ['a line of the log'] } })
    }
    incoming.reply({ ok: true, value: { taken: true } })
    obey(commandSchema.parse(incoming.body))
  })
  let cancel = () => {}
  const beat = () => {
    cancel = clock.after(everyMs, beat)
    bus.publish(subjects.hb(node), report())
  }
  beat()
  void register()
  return {
    commands,
    shards,
    get token() {
      return token
    },
    stop() {
      cancel()
      listening.stop()
    },
  }
}
