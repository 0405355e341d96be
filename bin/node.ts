#!/usr/bin/env node
// llmgw-node: the agent of a machine that serves models.
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { filesKeeper } from '../actors/node/files/actor.ts'
import { filesPorts } from '../actors/node/files/io/ports.ts'
import { hardwareWatcher } from '../actors/node/hardware/actor.ts'
import { hardwarePorts } from '../actors/node/hardware/io/ports.ts'
import { provisioner } from '../actors/node/provision/actor.ts'
import { provisionPorts } from '../actors/node/provision/io/ports.ts'
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
  /** Holds models, engines and run folders. */
  dataDir: z.string().startsWith('/'),
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
    const { name, nats, address, dataDir } = config
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
      parts: {
        hardware: (tell) => hardwareWatcher(hardwarePorts({ dir: modelsDir, warn }), tell),
        files: (tell) =>
          filesKeeper(filesPorts(modelsDir), ({ files }) => tell({ type: 'files', files })),
        provision: (tell) =>
          provisioner(provisionPorts({ dir: join(dataDir, 'engines'), warn }), ({ installs }) =>
            tell({ type: 'installs', installs }),
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
