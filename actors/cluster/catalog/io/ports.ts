// How the catalog hears of administration, and where models are kept.
import type { Clock } from '../../../../kernel/clock.ts'
import { type AdminRequest, adminVerbs } from '../../../../transport/contract/admin.ts'
import { toToken } from '../../../../transport/contract/names.ts'
import { subjects } from '../../../../transport/contract/subjects.ts'
import type { Reign } from '../../io/reign.ts'
import type { Ports } from '../actor.ts'
import { type AddRequest, addSchema, catalogModelSchema, type Message } from '../protocol.ts'

const keyOf = (model: string): string => `model.${toToken(model)}`

export const catalogPorts = (reign: Reign, clock: Clock): Ports => ({
  listen(self) {
    const add = reign.bridge<AddRequest, { done: true }, Message>({
      subject: subjects.adm('models-add'),
      request: addSchema,
      to: self,
      make: ({ definition }, replyTo) => ({
        type: 'add',
        definition,
        at: Math.round(clock.wallMs()),
        replyTo,
      }),
    })
    const remove = reign.bridge<AdminRequest<'models-remove'>, { done: true }, Message>({
      subject: subjects.adm('models-remove'),
      request: adminVerbs['models-remove'].request,
      to: self,
      make: ({ model }, replyTo) => ({ type: 'remove', model, replyTo }),
    })
    return () => {
      add.stop()
      remove.stop()
    }
  },
  load: async () =>
    (await reign.read('state', 'model.', catalogModelSchema)).map(({ value }) => value),
  store: async (model) => {
    await reign.put('state', keyOf(model.definition.name), model)
  },
  remove: (model) => reign.delete('state', keyOf(model)),
})
