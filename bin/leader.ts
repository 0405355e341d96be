#!/usr/bin/env node
// llmgw-leader: a candidate for the cluster's leadership.
import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { LlmgwError } from '../kernel/errors.ts'
import { runProgram } from '../kernel/program.ts'
import { connectBus } from '../transport/bus.ts'
import { tokenSchema } from '../transport/contract/names.ts'
import { readEngineSecret } from '../transport/identity.ts'
import { checkNatsVersion } from '../transport/nats-server.ts'
import { openStore } from '../transport/store.ts'
import { startLeading } from './leading.ts'
import { settings } from './settings.ts'

const ms = z.number().int().positive()
const leaderConfigSchema = z.strictObject({
  /** The name in the credentials. */
  name: tokenSchema,
  nats: z.strictObject({ url: z.string().min(1), credentialsFile: z.string().min(1) }),
  lease: z
    .strictObject({
      /** A replicated bucket stalls up to 9 s while its own leader is elected; with the guard and a retry that must fit. */
      lengthMs: ms.default(15_000),
      /** A tenth of the length: so much may the rates of two clocks differ. */
      guardMs: ms.default(1500),
      /** Several tries before the lease lapses, each of which may take 1500 ms. */
      renewMs: ms.default(2500),
    })
    .refine((it) => it.lengthMs - it.guardMs > it.renewMs + 1500, {
      error: 'lengthMs less guardMs must be more than renewMs and the 1500 ms of one try',
    })
    .prefault({}),
  /** Secret from which the engines' keys are derived. */
  engineSecretFile: z.string().min(1),
  /** Only for whoever has just made the store: nobody can hold a lease there. */
  freshStore: z.boolean().default(false),
  log: z
    .strictObject({ level: z.enum(['trace', 'debug', 'info', 'warn', 'error']).default('info') })
    .prefault({}),
})

const config = settings('llmgw-leader', leaderConfigSchema)

runProgram({
  name: 'llmgw-leader',
  instance: config.name,
  level: config.log.level,
  async start({ log, clock, system }) {
    const { name, nats, lease, engineSecretFile } = config
    const engineSecret = await readEngineSecret(engineSecretFile)
    const credentials = await readFile(nats.credentialsFile, 'utf8')
    const bus = await connectBus({ url: nats.url, name, credentials, log })
    const version = checkNatsVersion(bus.serverVersion, nats.url)
    if (!version.ok) throw new LlmgwError(version.error.code, version.error.details)
    let isEnding = false
    bus.onStatus((status) => {
      log.info(status, 'nats')
      // whoever supervises this program starts it anew, with a connection that can work
      if (status.type === 'closed' && !isEnding) process.exit(1)
    })
    const store = openStore(bus)
    const { fresh } = await store.prepare()
    await startLeading({
      name,
      timing: lease,
      freshStore: fresh && config.freshStore,
      engineSecret,
      ...{ system, bus, store, clock, log },
    })
    return {
      async stop() {
        isEnding = true
        // the lease is given back while the connection is still there
        await system.stop()
        await bus.close()
      },
    }
  },
})
