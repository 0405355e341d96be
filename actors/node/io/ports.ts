// How a node's agent talks to the leader, and the token that it keeps.
import { mkdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { failure, LlmgwError, messageOf, toFailure } from '../../../kernel/errors.ts'
import { bridge } from '../../../transport/bridge.ts'
import type { Bus } from '../../../transport/bus.ts'
import { tokenSchema } from '../../../transport/contract/names.ts'
import {
  commandSchema,
  logsRequestSchema,
  type Command as NodeCommand,
  registeredSchema,
} from '../../../transport/contract/node.ts'
import { subjects } from '../../../transport/contract/subjects.ts'
import { writeWhole } from '../../../transport/durable-file.ts'
import type { Ports } from '../actor.ts'
import type { Identity, Message } from '../protocol.ts'

/** A leader answers once its store has the node, which takes a few tens of milliseconds. */
const registerWithinMs = 2000

export type Options = {
  identity: Identity
  /** The connection, which may take for ever: until then the agent keeps its engines by itself. */
  bus: Promise<Bus>
  tokenPath: string
  /** Last lines of a shard's log; null where there is no such shard. */
  readLog(replica: string, lines: number): string[] | null
  log: { warn(fields: object, text: string): void; info(fields: object, text: string): void }
}

/** All ports of the agent but its parts, which are handed over where the actors are made. */
export function nodePorts(options: Options): Omit<Ports, 'files' | 'shards'> {
  const { identity, tokenPath, log } = options
  const { node, boot } = identity
  let connected: Bus | undefined
  let release = (): void => {}
  return {
    listen(self) {
      release()
      let released = false
      const ends: (() => void)[] = []
      release = () => {
        released = true
        for (const end of ends.splice(0)) end()
      }
      const onBus = (bus: Bus): void => {
        if (released) return
        connected = bus
        ends.push(...listen(bus, identity, self))
        if (bus.connected) self.tell({ type: 'online' })
      }
      // that there will be none is told by whoever connects
      void options.bus.then(onBus, () => {})
    },
    async register(registration) {
      if (connected === undefined) return { ok: false, error: failure('LLMGW_NO_LEADER') }
      const subject = subjects.svc('members', 'register', node)
      const withinMs = registerWithinMs
      const outcome = await connected.request(subject, registration, registeredSchema, { withinMs })
      if (outcome.ok) log.info({ node, boot, ...outcome.value }, 'registered')
      else log.info({ node, problem: outcome.error.message }, 'not registered')
      return outcome
    },
    report: (report) => connected?.publish(subjects.hb(node), report),
    recallToken: () => recallToken(tokenPath, log),
    keepToken(token) {
      mkdirSync(dirname(tokenPath), { recursive: true, mode: 0o700 })
      writeWhole(tokenPath, String(token))
    },
    logs(replica, lines) {
      try {
        // a token of a subject may hold what a name may not
        const named = tokenSchema.safeParse(replica).success
        const found = named ? options.readLog(replica, lines) : null
        if (found === null) throw new LlmgwError('LLMGW_REPLICA_UNKNOWN', { replica })
        return { ok: true, value: { lines: found } }
      } catch (error) {
        return { ok: false, error: toFailure(error, 'LLMGW_REPLICA_UNKNOWN', { replica }) }
      }
    },
    warn: (text) => log.warn({ node }, text),
    release: () => release(),
  }
}

/** What ends the listening. */
function listen(
  bus: Bus,
  { node, boot }: Identity,
  self: Parameters<Ports['listen']>[0],
): (() => void)[] {
  const commands = ['shard', 'files', 'node'].map((kind) =>
    bridge<NodeCommand, { taken: true }, Message>({
      bus,
      subject: subjects.act(node, boot, kind, '*'),
      request: commandSchema,
      to: self,
      make: (command, replyTo) => ({ type: 'command', command, replyTo }),
    }),
  )
  const logs = bridge<{ lines: number }, { lines: string[] }, Message>({
    bus,
    subject: subjects.act(node, boot, 'logs', '*'),
    request: logsRequestSchema,
    to: self,
    make: ({ lines }, replyTo, { caller }) => ({ type: 'logs', replica: caller, lines, replyTo }),
  })
  const unwatch = bus.onStatus(({ type }) => {
    self.tell({ type: type === 'connected' ? 'online' : 'offline' })
  })
  return [...commands, logs].map((it) => () => it.stop()).concat(unwatch)
}

/** Unreadable is not zero to an operator, so it is said; the next leader's token replaces it. */
function recallToken(path: string, log: Options['log']): number {
  try {
    const token = Number(readFileSync(path, 'utf8'))
    if (Number.isSafeInteger(token) && token >= 0) return token
    throw new Error('it holds no number')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0
    log.warn({ path, problem: messageOf(error) }, 'the token of the last leader cannot be read')
    return 0
  }
}
