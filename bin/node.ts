#!/usr/bin/env node
// llmgw-node: the agent of a machine that serves models.
import { randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { filesKeeper } from '../actors/node/files/actor.ts'
import { filesPorts } from '../actors/node/files/io/ports.ts'
import { hardwareWatcher } from '../actors/node/hardware/actor.ts'
import { hardwarePorts } from '../actors/node/hardware/io/ports.ts'
import { provisioner } from '../actors/node/provision/actor.ts'
import { provisionPorts } from '../actors/node/provision/io/ports.ts'
import { asUser, barrier, trial } from '../actors/process/io/user.ts'
import type { User } from '../actors/process/protocol.ts'
import { runProgram } from '../kernel/program.ts'
import { type Bus, connectBus } from '../transport/bus.ts'
import { tokenSchema } from '../transport/contract/names.ts'
import { startAgent } from './agent.ts'
import { settings } from './settings.ts'

const nodeConfigSchema = z.strictObject({
  /** The name in the credentials. */
  name: tokenSchema,
  nats: z.strictObject({ url: z.string().min(1), credentialsFile: z.string().min(1) }),
  /** Where engines listen and routers reach them. */
  address: z.union([z.ipv4(), z.ipv6()]).default('127.0.0.1'),
  /** Holds models, engines, their private folders and run folders. */
  dataDir: z.string().startsWith('/'),
  /** Started by root, engines run as users of their own: the ids from this one on, which must be nobody's. */
  engines: z
    .strictObject({ firstUid: z.number().int().min(1000).max(2_147_483_000).default(60_600) })
    .prefault({}),
  log: z
    .strictObject({ level: z.enum(['trace', 'debug', 'info', 'warn', 'error']).default('info') })
    .prefault({}),
})

const config = settings('llmgw-node', nodeConfigSchema)
const { version } = z
  .object({ version: z.string() })
  .parse(JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')))

runProgram({
  name: 'llmgw-node',
  instance: config.name,
  level: config.log.level,
  async start({ log, system }) {
    const { name, nats, address, dataDir, engines } = config
    const credentials = await readFile(nats.credentialsFile, 'utf8')
    const modelsDir = join(dataDir, 'models')
    let isEnding = false
    let opened: Bus | undefined
    const connect = async (): Promise<Bus> => {
      opened = await connectBus({ url: nats.url, name, credentials, log })
      opened.onStatus((status) => {
        log.info(status, 'nats')
        // whoever supervises this program starts it anew, with a connection that can work
        if (status.type === 'closed' && !isEnding) process.exit(1)
      })
      return opened
    }
    const bus = connect()
    bus.catch((thrown) => {
      log.fatal({ err: thrown }, 'no connection is possible')
      process.exit(1)
    })
    const warn = (text: string): void => log.warn(text)
    const homesDir = join(dataDir, 'homes')
    const first = { uid: engines.firstUid, gid: engines.firstUid }
    const isRoot = process.getuid?.() === 0
    const hindrance = isRoot ? await hindranceOf(first, homesDir) : null
    const hasUsers = isRoot && hindrance === null
    const warnings = hindrance === null ? [] : [`engines run as root, because ${hindrance}`]
    warnings.forEach(warn)
    const agent = startAgent({
      system,
      log,
      identity: {
        node: name,
        boot: randomBytes(8).toString('hex'),
        pid: process.pid,
        version,
        address,
      },
      bus,
      runDir: join(dataDir, 'run'),
      homesDir,
      users: hasUsers
        ? { firstUid: first.uid, barrier: (user, path) => barrier(user, path, 'r') }
        : null,
      parts: {
        hardware: (tell) =>
          hardwareWatcher(hardwarePorts({ dir: modelsDir, warn, warnings }), tell),
        files: (tell) =>
          filesKeeper(filesPorts(modelsDir), ({ files }) => tell({ type: 'files', files })),
        provision: (tell) =>
          provisioner(
            provisionPorts({
              dir: join(dataDir, 'engines'),
              ...(hasUsers && { asUser: asUser(first) }),
              warn,
            }),
            ({ installs }) => tell({ type: 'installs', installs }),
          ),
      },
    })
    return {
      async stop(signal) {
        isEnding = true
        // SIGTERM ends the agent alone: its engines go on, and its successor adopts them
        if (signal === 'SIGINT') await agent.endShards()
        await system.stop()
        await opened?.close()
      },
    }
  },
})

/** Why root cannot run engines as users of their own here; null where it can. Throws where that is not known: then no engine is started as root. */
async function hindranceOf(user: User, homesDir: string): Promise<string | null> {
  mkdirSync(homesDir, { recursive: true })
  chmodSync(homesDir, 0o711)
  return (await trial(user)) ?? (await barrier(user, homesDir, 'x'))
}
