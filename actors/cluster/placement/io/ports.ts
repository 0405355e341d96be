// How placement hears of administration, sends commands, and where replicas and routes are kept.
import { randomBytes } from 'node:crypto'
import {
  type AdminAnswer,
  type AdminRequest,
  adminVerbs,
} from '../../../../transport/contract/admin.ts'
import { toToken } from '../../../../transport/contract/names.ts'
import { type Command, logsAnswerSchema, takenSchema } from '../../../../transport/contract/node.ts'
import { routedModelSchema, routeSchema } from '../../../../transport/contract/route.ts'
import { subjects } from '../../../../transport/contract/subjects.ts'
import type { Reign } from '../../io/reign.ts'
import type { Ports } from '../actor.ts'
import {
  type Look,
  type LookVerb,
  type Message,
  type Order,
  replicaRecordSchema,
} from '../protocol.ts'

const lookVerbs: readonly LookVerb[] = [
  'status',
  'nodes-list',
  'models-list',
  'models-show',
  'replicas-list',
  'why',
]
/** As many replicas are placed by one decision at most; the next one follows at once. */
const idsAtOnce = 16

/** `engineKey` derives the key of a replica's engine. */
export const placementPorts = (reign: Reign, engineKey: (replica: string) => string): Ports => ({
  listen(self) {
    const looks = lookVerbs.map((verb) =>
      reign.bridge<unknown, never, Message>({
        subject: subjects.adm(verb),
        request: adminVerbs[verb].request,
        to: self,
        // the schema of the verb has checked the request
        make: (request, replyTo) =>
          ({ type: 'look', verb, at: self.now(), request, replyTo }) as Look,
      }),
    )
    const logs = reign.bridge<AdminRequest<'logs-read'>, AdminAnswer<'logs-read'>, Message>({
      subject: subjects.adm('logs-read'),
      request: adminVerbs['logs-read'].request,
      to: self,
      make: (request, replyTo) => ({ type: 'logs', request, replyTo }),
    })
    return () => {
      for (const it of [...looks, logs]) it.stop()
    }
  },
  async load() {
    const records = await reign.read('state', 'replica.', replicaRecordSchema)
    const routes = await reign.read('route', 'route.', routeSchema)
    const models = await reign.read('route', 'model.', routedModelSchema)
    return { records: records.map(({ value }) => value), routes: [...routes, ...models] }
  },
  async write(writes) {
    const revisions: number[] = []
    for (const write of writes) {
      const { bucket, value } = write
      const key = write.bucket === 'route' ? write.key : `replica.${write.replica}`
      if (write.bucket === 'state') {
        const { node, state = 'gone', why } = write.value ?? {}
        reign.log.info({ replica: write.replica, node, state, why }, 'decided')
      }
      if (value === null) await reign.delete(bucket, key)
      revisions.push(value === null ? 0 : await reign.put(bucket, key, value))
    }
    return revisions
  },
  command(order) {
    const { subject, body } = commandOf(order, reign.token, engineKey)
    void reign.request(subject, body, takenSchema).then((it) => {
      const { type, node } = order
      if (it.ok) reign.log.info({ type, node, subject }, 'commanded')
      else reign.log.warn({ type, node, subject, failure: it.error }, 'a command was not taken')
    })
  },
  logs: ({ node, boot, replica }, lines) =>
    reign.request(subjects.act(node, boot, 'logs', replica), { lines }, logsAnswerSchema),
  ids: () => Array.from({ length: idsAtOnce }, () => randomBytes(5).toString('hex')),
})

function commandOf(
  order: Order,
  token: number,
  engineKey: (replica: string) => string,
): { subject: string; body: Command } {
  const { node, boot } = order
  switch (order.type) {
    case 'start': {
      const { node: _, boot: __, ...start } = order
      const subject = subjects.act(node, boot, 'shard', order.replica)
      return { subject, body: { ...start, token, key: engineKey(order.replica) } }
    }
    case 'stop': {
      const { type, replica } = order
      return { subject: subjects.act(node, boot, 'shard', replica), body: { type, token, replica } }
    }
    case 'fetch': {
      const { type, artifact } = order
      const subject = subjects.act(node, boot, 'files', toToken(order.model))
      return { subject, body: { type, token, artifact } }
    }
  }
}
