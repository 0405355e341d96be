// The identity: made once, mended where something is missing, never replaced where it is damaged.
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { decode, type User } from '@nats-io/jwt'
import { createUser } from '@nats-io/nkeys'
import t from 'tap'
import { roles } from '../../../transport/contract/subjects.ts'
import {
  accountJwt,
  createIdentity,
  deriveReplicaKey,
  engineSecretPath,
  issueCredentials,
  readEngineSecret,
  signUser,
} from '../../../transport/identity.ts'

async function folder(t: { teardown(end: () => unknown): void }): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'llmgw-identity-'))
  t.teardown(() => rm(dir, { recursive: true, force: true }))
  return dir
}
const mode = async (path: string): Promise<number> => (await stat(path)).mode & 0o777
type Claims = { signing_keys: { role: string }[]; revocations?: Record<string, number> }

t.test('an identity is made once and read again', async (t) => {
  const dir = await folder(t)
  const first = await createIdentity(dir)
  t.strictSame(await createIdentity(dir), first)
  t.strictSame(first.engineSecret, await readEngineSecret(engineSecretPath(dir)))
  t.equal(await mode(join(dir, 'identity')), 0o700)
  t.equal(await mode(join(dir, 'credentials')), 0o700)
  t.equal(await mode(join(dir, 'identity', 'identity.json')), 0o600)
  t.equal(await mode(engineSecretPath(dir)), 0o600)
})

t.test('what a crash left half-written is not used', async (t) => {
  const dir = await folder(t)
  await createIdentity(dir)
  const path = join(dir, 'identity', 'identity.json')
  const whole = await readFile(path, 'utf8')
  await rm(path)
  await writeFile(`${path}.part`, whole.slice(0, 100), { mode: 0o644 })
  await createIdentity(dir)
  t.not(await readFile(path, 'utf8'), whole)
  t.equal(await mode(path), 0o600)
})

t.test('a role that is missing gets its key, and the others keep theirs', async (t) => {
  const dir = await folder(t)
  const path = join(dir, 'identity', 'identity.json')
  await createIdentity(dir)
  const stored = JSON.parse(await readFile(path, 'utf8'))
  const { admin: _, ...others } = stored.roles
  await writeFile(path, JSON.stringify({ ...stored, roles: others }))
  const mended = await createIdentity(dir)
  t.match(mended.stored.roles, others)
  t.notMatch(mended.stored.roles, stored.roles)
  t.equal(mended.stored.jwts.operator, stored.jwts.operator)
  t.strictSame(
    decode<Claims>(mended.stored.jwts.account).nats.signing_keys?.map((it) => it.role),
    [...roles],
  )
})

t.test('revocations stay when the account is signed anew', async (t) => {
  const dir = await folder(t)
  const path = join(dir, 'identity', 'identity.json')
  const identity = await createIdentity(dir)
  const revoked = createUser().getPublicKey()
  const account = await accountJwt(identity, { [revoked]: 1 })
  const { admin: _, ...others } = identity.stored.roles
  const stored = { ...identity.stored, roles: others, jwts: { ...identity.stored.jwts, account } }
  await writeFile(path, JSON.stringify(stored))
  const mended = await createIdentity(dir)
  t.strictSame(decode<Claims>(mended.stored.jwts.account).nats.revocations, { [revoked]: 1 })
})

t.test('a damaged identity is refused and kept', async (t) => {
  for (const damage of ['', '{', '{"version": 2}', 'null']) {
    const dir = await folder(t)
    await createIdentity(dir)
    const path = join(dir, 'identity', 'identity.json')
    await writeFile(path, damage)
    await t.rejects(createIdentity(dir), { code: 'LLMGW_IDENTITY_DAMAGED' })
    t.equal(await readFile(path, 'utf8'), damage)
  }
})

t.test('keys that do not fit what they signed are refused', async (t) => {
  const dir = await folder(t)
  const { stored } = await createIdentity(dir)
  const path = join(dir, 'identity', 'identity.json')
  const turned = stored.account[20] === 'A' ? 'B' : 'A'
  const seed = stored.account.slice(0, 20) + turned + stored.account.slice(21)
  for (const changed of [
    { ...stored, account: seed },
    { ...stored, jwts: { ...stored.jwts, account: 'no token' } },
  ]) {
    await writeFile(path, JSON.stringify(changed))
    await t.rejects(createIdentity(dir), { code: 'LLMGW_IDENTITY_DAMAGED' })
  }
})

t.test('no new keys are made beside data of lost ones', async (t) => {
  const dir = await folder(t)
  await mkdir(join(dir, 'nats', 'jetstream'), { recursive: true })
  await t.rejects(createIdentity(dir), { code: 'LLMGW_IDENTITY_DAMAGED', message: /nats/ })
})

t.test('a damaged secret of the engines is refused', async (t) => {
  const dir = await folder(t)
  await createIdentity(dir)
  await writeFile(engineSecretPath(dir), 'short')
  await t.rejects(createIdentity(dir), { code: 'LLMGW_IDENTITY_DAMAGED' })
})

t.test('a machine that joins keeps its seed: only its public key is signed', async (t) => {
  const identity = await createIdentity(await folder(t))
  const key = createUser().getPublicKey()
  const claims = decode<User>(await signUser(identity, 'node', 'n1', key))
  t.equal(claims.sub, key)
  t.equal(claims.name, 'n1')
  t.equal(claims.nats.issuer_account, identity.account)
  await t.rejects(signUser(identity, 'node', 'n1.>', key), 'a name that is no token')
})

t.test('credentials are new for each program', async (t) => {
  const identity = await createIdentity(await folder(t))
  const one = await issueCredentials(identity, 'router', 'r1')
  const other = await issueCredentials(identity, 'router', 'r1')
  t.match(one, /BEGIN NATS USER JWT/)
  t.not(one, other)
})

t.test('the key of a replica depends on the secret and its id alone', async (t) => {
  const secret = new Uint8Array(32).fill(7)
  t.equal(deriveReplicaKey(secret, 'a'), deriveReplicaKey(secret, 'a'))
  t.equal(deriveReplicaKey(secret, 'a').length, 43)
  t.not(deriveReplicaKey(secret, 'a'), deriveReplicaKey(secret, 'b'))
  t.not(deriveReplicaKey(new Uint8Array(32), 'a'), deriveReplicaKey(secret, 'a'))
})
