// What is accepted as nats-server, and what it is configured with.
import t from 'tap'
import { artifactSchema } from '../../../transport/contract/artifact.ts'
import {
  checkNatsVersion,
  natsServerArtifacts,
  natsServerConfig,
} from '../../../transport/nats-server.ts'

t.test('the pinned version and newer ones are accepted', async (t) => {
  for (const [text, version] of [
    ['nats-server: v2.15.1\n', '2.15.1'],
    ['2.15.1', '2.15.1'],
    ['nats-server: v2.15.2-RC.1', '2.15.2-RC.1'],
    ['2.16.0', '2.16.0'],
    ['nats-server: v3.0.0', '3.0.0'],
    ['2.100.0', '2.100.0'],
  ]) {
    t.strictSame(checkNatsVersion(text ?? '', 'here'), { ok: true, value: version })
  }
})

t.test('older versions are refused with what to do', async (t) => {
  for (const text of ['nats-server: v2.9.10', '2.15.0', '2.15.1-beta', '1.99.99', 'nonsense', '']) {
    const outcome = checkNatsVersion(text, '/usr/sbin/nats-server')
    t.match(outcome, { ok: false, error: { code: 'LLMGW_NATS_TOO_OLD' } })
    if (!outcome.ok) t.match(outcome.error.message, /\/usr\/sbin\/nats-server .* 2\.15\.1 or newer/)
  }
})

t.test('the artifacts are what the contract calls artifacts', async (t) => {
  for (const artifact of natsServerArtifacts) t.strictSame(artifactSchema.parse(artifact), artifact)
  t.strictSame(
    natsServerArtifacts.map((it) => it.platform),
    ['linux-x64', 'linux-arm64'],
  )
})

t.test('the server listens on loopback and syncs each write', async (t) => {
  const trust = { operatorJwt: 'o', systemAccount: 'S', accountJwts: { S: 's', A: 'a' } }
  const text = natsServerConfig({ name: 'm1', port: 4222, storeDir: '/data/nats', trust })
  t.match(JSON.parse(text), {
    server_name: 'm1',
    host: '127.0.0.1',
    port: 4222,
    jetstream: { store_dir: '/data/nats', sync_interval: 'always' },
    system_account: 'S',
    resolver: { type: 'full', dir: '/data/nats/resolver', allow_delete: false },
    resolver_preload: { S: 's', A: 'a' },
  })
  t.notMatch(text, /http|log_file/)
})
