// How members hear of nodes and routers, and where nodes' records are kept.
import {
  type Registration,
  type Report,
  registrationSchema,
  reportSchema,
  takenSchema,
} from '../../../../transport/contract/node.ts'
import { subjects } from '../../../../transport/contract/subjects.ts'
import type { Reign } from '../../io/reign.ts'
import type { Ports } from '../actor.ts'
import { type Message, nodeRecordSchema, type Registered } from '../protocol.ts'

export const membersPorts = (reign: Reign): Ports => ({
  token: reign.token,
  listen(self) {
    const registrations = reign.bridge<Registration, Registered, Message>({
      subject: subjects.svcAll('members', 'register'),
      request: registrationSchema,
      to: self,
      make: (registration, replyTo, { caller }) => ({
        type: 'register',
        at: self.now(),
        caller,
        registration,
        replyTo,
      }),
    })
    const reports = reign.bridge<Report, never, Message>({
      subject: subjects.hbAll,
      request: reportSchema,
      to: self,
      make: (report, _, { caller }) => ({ type: 'report', at: self.now(), caller, report }),
    })
    return () => {
      registrations.stop()
      reports.stop()
    }
  },
  load: async () =>
    (await reign.read('state', 'node.', nodeRecordSchema)).map(({ value }) => value),
  store: async (record) => {
    const { node, boot, address, version } = record
    reign.log.info({ node, boot, address, version }, 'a node registered')
    await reign.put('state', `node.${record.node}`, record)
  },
  ask(node, boot) {
    const { token } = reign
    const command = { type: 'register', token }
    void reign.request(subjects.act(node, boot, 'node', node), command, takenSchema).then((it) => {
      if (!it.ok) reign.log.debug({ node, failure: it.error }, 'a node was not asked to register')
    })
  },
})
