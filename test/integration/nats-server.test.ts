// The configuration against the real server: it starts, it restarts, it lets nobody in without credentials.
import { connect, credsAuthenticator } from '@nats-io/transport-node'
import t from 'tap'
import { checkNatsVersion } from '../../transport/nats-server.ts'
import { startNats } from '../support/nats-server.ts'

t.test('a server runs in operator mode and keeps its port over a restart', async (t) => {
  const nats = await startNats(t)
  if (!nats) return
  await t.rejects(connect({ servers: nats.url, reconnect: false }), /authorization/i)
  const creds = new TextEncoder().encode(await nats.credentials('leader', 'l1'))
  const port = nats.port
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    const connection = await connect({
      servers: nats.url,
      authenticator: credsAuthenticator(creds),
      inboxPrefix: '_INBOX.l1',
    })
    t.ok(connection.info?.jetstream, 'JetStream is on')
    t.ok(checkNatsVersion(connection.info?.version ?? '', 'the test').ok)
    await connection.close()
    await nats.kill(signal)
    await nats.start()
    t.equal(nats.port, port)
  }
})
