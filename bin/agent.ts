// The wiring of a node's agent: its parts beneath it, one shard per replica, and the process of each.
import { join } from 'node:path'
import { nodeAgent } from '../actors/node/actor.ts'
import type { Message as FilesMessage } from '../actors/node/files/protocol.ts'
import { nodePorts } from '../actors/node/io/ports.ts'
import type { Identity, Message, Part } from '../actors/node/protocol.ts'
import type { Message as ProvisionMessage } from '../actors/node/provision/protocol.ts'
import { shardsKeeper } from '../actors/node/shards/actor.ts'
import type { Message as ShardsMessage } from '../actors/node/shards/protocol.ts'
import { processKeeper } from '../actors/process/actor.ts'
import { processPorts } from '../actors/process/io/ports.ts'
import { shard } from '../actors/shard/actor.ts'
import { readLog, recallAll } from '../actors/shard/io/folder.ts'
import { shardPorts, type Users } from '../actors/shard/io/ports.ts'
import { engineByName } from '../engines/index.ts'
import type { Behaviour, ChildSpec } from '../kernel/actor.ts'
import type { Logger } from '../kernel/log.ts'
import type { System } from '../kernel/system.ts'
import type { Bus } from '../transport/bus.ts'

/** A part that tells the agent what it finds. */
type PartOf<M> = (tell: (part: Part) => void) => Behaviour<unknown, M, unknown>

export type AgentOptions = {
  system: System
  log: Logger
  identity: Identity
  bus: Promise<Bus>
  /** Holds the run folders of the agent and its shards. */
  runDir: string
  /** Holds the private folders of engines. */
  homesDir: string
  /** Null: engines run as the agent's user. */
  users: Users | null
  parts: {
    hardware: PartOf<never>
    files: PartOf<FilesMessage>
    provision: PartOf<ProvisionMessage>
  }
}

export interface Agent {
  /** Ends all engines; resolves when none runs, or after `endWithinMs`. */
  endShards(): Promise<void>
}

/** An engine's ladder of signals takes 9 s at most. Whoever ends the agent kills it later than this. */
const endWithinMs = 10_000

/** Starts the agent. Engines that were left running are adopted at once, whether or not a cluster is there. */
export function startAgent(options: AgentOptions): Agent {
  const { system, log, identity, bus, runDir, homesDir, users, parts } = options
  const node = system.address<Message>('node')
  const files = system.address<FilesMessage>('files')
  const provision = system.address<ProvisionMessage>('provision')
  const shards = system.address<ShardsMessage>('shards')
  const tell = (part: Part): void => void node.tell(part)
  const shardsDir = join(runDir, 'shards')
  const ports = {
    ...shardPorts({
      dir: shardsDir,
      homesDir,
      users,
      host: identity.address,
      engineOf: engineByName,
      path: '/usr/local/bin:/usr/bin:/bin',
      log,
    }),
    files,
    provision,
    process: (replica: string, tellShard: Parameters<typeof processKeeper>[2]) =>
      child(
        'process',
        // the shard decides about restarts
        processKeeper(
          processPorts({ dir: join(shardsDir, replica), log }),
          { intensity: 0, periodMs: 1, delayMs: { min: 0, max: 0 } },
          tellShard,
        ),
      ),
  }
  const keeper = shardsKeeper(
    {
      host: identity.address,
      scan: () => recallAll(shardsDir, log),
      child: (spec, tellKeeper) => ({
        ...child(spec.replica, shard(ports, spec, tellKeeper)),
        restart: 'temporary',
      }),
    },
    tell,
  )
  const agent = nodeAgent(
    {
      ...nodePorts({
        identity,
        bus,
        tokenPath: join(runDir, 'node', 'token'),
        readLog: (replica, lines) => readLog(join(shardsDir, replica), lines, log),
        log,
      }),
      files,
      shards,
    },
    identity,
  )
  system.spawn({
    ...child('node', agent),
    at: node,
    // Shards that wait for what broke would wait for ever: they begin anew with it, and adopt their engines.
    strategy: 'rest-for-one',
    children: [
      { ...child('files', parts.files(tell)), at: files },
      { ...child('provision', parts.provision(tell)), at: provision },
      { ...child('shards', keeper), at: shards },
      child('hardware', parts.hardware(tell)),
    ],
  })
  return {
    endShards: () =>
      new Promise((resolve) => {
        const late = setTimeout(resolve, endWithinMs)
        const replyTo = (): void => {
          clearTimeout(late)
          resolve()
        }
        if (!shards.tell({ type: 'stop-all', replyTo })) replyTo()
      }),
  }
}

/** Crashes of an actor of the agent, before the agent ends and is started anew; engines run on. */
const child = <S, M, E>(name: string, behaviour: Behaviour<S, M, E>): ChildSpec<S, M, E> => ({
  name,
  behaviour,
  restart: 'permanent',
  intensity: 5,
  periodMs: 60_000, // a minute
  delayMs: { min: 100, max: 5000 },
  capacity: 10_000,
  overflow: 'refuse',
  stopMs: 5000, // for installs and fetches that must stop writing
})
