// How accounts hear of administration, how keys are made, and where their digests are kept.
import { createHash, randomBytes } from 'node:crypto'
import type { Clock } from '../../../../kernel/clock.ts'
import {
  type AdminAnswer,
  type AdminRequest,
  adminVerbs,
} from '../../../../transport/contract/admin.ts'
import { routedKeySchema } from '../../../../transport/contract/route.ts'
import { subjects } from '../../../../transport/contract/subjects.ts'
import type { Reign } from '../../io/reign.ts'
import type { Ports } from '../actor.ts'
import { keyRecordSchema, type Message, scopeSchema } from '../protocol.ts'

type Verb = 'keys-create' | 'keys-list' | 'keys-revoke'

export const accountsPorts = (reign: Reign, clock: Clock): Ports => ({
  listen(self) {
    const on = <V extends Verb>(
      verb: V,
      make: Parameters<typeof reign.bridge<AdminRequest<V>, AdminAnswer<V>, Message>>[0]['make'],
    ) => {
      const request = adminVerbs[verb].request as never
      return reign.bridge<AdminRequest<V>, AdminAnswer<V>, Message>({
        subject: subjects.adm(verb),
        request,
        to: self,
        make,
      })
    }
    const bridges = [
      on('keys-create', ({ name, scope }, replyTo) => {
        const at = Math.round(clock.wallMs())
        return { type: 'create', name, scope, at, replyTo }
      }),
      on('keys-list', (_, replyTo) => ({ type: 'list', replyTo })),
      on('keys-revoke', ({ id }, replyTo) => ({ type: 'revoke', id, replyTo })),
    ]
    return () => {
      for (const it of bridges) it.stop()
    }
  },
  async load() {
    const scopes = await reign.read('state', 'scope.', scopeSchema)
    const keys = await reign.read('state', 'key.', keyRecordSchema)
    const routed = await reign.read('route', 'key.', routedKeySchema)
    return {
      scopes: scopes.map(({ value }) => value),
      keys: keys.map(({ value }) => value),
      routed: routed.map(({ key }) => key.slice('key.'.length)),
    }
  },
  keep: async (scope) => {
    await reign.put('state', `scope.${scope.id}`, scope)
  },
  mint() {
    const secret = `sk-llmgw-${randomBytes(32).toString('base64url')}`
    const sha256 = createHash('sha256').update(secret).digest('hex')
    return { id: `key-${randomBytes(6).toString('hex')}`, secret, sha256 }
  },
  store: async (key) => {
    await reign.put('state', `key.${key.id}`, key)
  },
  remove: ({ id }) => reign.delete('state', `key.${id}`),
  route: async ({ id, name, scope, sha256 }) => {
    await reign.put('route', `key.${sha256}`, { id, name, scope })
  },
  unroute: async (sha256) => {
    await reign.delete('route', `key.${sha256}`)
    reign.publish(subjects.all('revoked'), { sha256 })
  },
})
