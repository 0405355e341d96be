#!/usr/bin/env node
// llmgw-router: the HTTP endpoint; several of them may share a port.
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import type { Message as AdmissionMessage } from '../actors/router/admission/protocol.ts'
import { runProgram } from '../kernel/program.ts'
import { bridge } from '../transport/bridge.ts'
import { connectBus } from '../transport/bus.ts'
import { tokenSchema } from '../transport/contract/names.ts'
import type { RouterReport } from '../transport/contract/node.ts'
import { revokedSchema } from '../transport/contract/route.ts'
import { buckets, subjects } from '../transport/contract/subjects.ts'
import { deriveReplicaKey, readEngineSecret } from '../transport/identity.ts'
import { mirrorSpec, natsMirrorPorts } from '../transport/mirror.ts'
import { startRouting } from './routing.ts'
import { settings } from './settings.ts'

const ms = z.number().int().positive()
const bytes = z.number().int().positive()
const routerConfigSchema = z.strictObject({
  /** The name in the credentials. */
  name: tokenSchema,
  nats: z.strictObject({ url: z.string().min(1), credentialsFile: z.string().min(1) }),
  listen: z.strictObject({
    host: z.string().min(1).default('127.0.0.1'),
    port: z.number().int().min(0).max(65_535).default(8700),
  }),
  /** Secret from which the engines' keys are derived. */
  engineSecretFile: z.string().min(1),
  limits: z
    .strictObject({
      /** Of one request. */
      bodyBytes: bytes.default(32 * 1024 * 1024),
      /** Of all requests, and answers that are put together, in memory at once. */
      bufferedBytes: bytes.default(256 * 1024 * 1024),
    })
    .prefault({}),
  timeouts: z
    .strictObject({
      /** To an engine on the same network, which takes a millisecond; one that is gone costs so much of a request's time. */
      connectMs: ms.default(2000),
      /** Of an answer: a long prompt on a slow machine, behind others, takes minutes. */
      firstByteMs: ms.default(600_000),
      /** Between chunks of an answer, once it has begun: the slowest engines make a token in seconds. */
      idleMs: ms.default(120_000),
    })
    .prefault({}),
  /** At the end, running requests may go on for so long. */
  drainMs: z.number().int().nonnegative().default(30_000),
  log: z
    .strictObject({ level: z.enum(['trace', 'debug', 'info', 'warn', 'error']).default('info') })
    .prefault({}),
})

const config = settings('llmgw-router', routerConfigSchema)

runProgram({
  name: 'llmgw-router',
  instance: config.name,
  level: config.log.level,
  async start({ log, metrics, system, ending }) {
    const { name, nats, listen, engineSecretFile, limits, timeouts, drainMs } = config
    const ended = new Promise<never>((_, reject) => {
      ending.addEventListener('abort', () => reject(new Error('ended before it served')))
    })
    ended.catch(() => undefined) // heard only while the start still waits
    const secret = await readEngineSecret(engineSecretFile)
    const credentials = await readFile(nats.credentialsFile, 'utf8')
    log.info({ url: nats.url }, 'connecting')
    const connecting = connectBus({ url: nats.url, name, credentials, log })
    const bus = await Promise.race([connecting, ended])
    bus.onStatus((status) => {
      log.info(status, 'nats')
      // credentials that were revoked end the router; while NATS is merely away it serves on
      if (status.type === 'closed' && !ending.aborted) process.exit(1)
    })
    metrics.gauge({
      name: 'llmgw_nats_connected',
      help: '1 while the table is kept up to date, 0 while it is the last one known',
      labels: [],
      collect: (set) => set({}, bus.connected ? 1 : 0),
    })
    const boot = randomUUID()
    const routing = startRouting({
      system,
      metrics,
      log,
      limits,
      timeouts,
      keyOf: (replica) => deriveReplicaKey(secret, replica),
      report(holds, revision) {
        const { pid } = process
        const report: RouterReport = { kind: 'router', router: name, boot, pid, holds, revision }
        bus.publish(subjects.hb(name), report)
      },
      mirror: (owner) => {
        const warn = (problem: string): void => log.warn({ problem }, 'the table is not kept up')
        return mirrorSpec('mirror', natsMirrorPorts(bus, buckets.route, warn), owner)
      },
    })
    bridge({
      bus,
      subject: subjects.all('revoked'),
      request: revokedSchema,
      to: routing.admission,
      make: ({ sha256 }): AdmissionMessage => ({ type: 'revoked', sha256 }),
    })
    await Promise.race([routing.listed, ended])
    const port = await routing.listen(listen)
    log.info({ host: listen.host, port }, 'serving')
    return {
      async stop() {
        await routing.stop(drainMs)
        await system.stop()
        await bus.close()
      },
    }
  },
})
