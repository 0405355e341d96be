// The keys that the cluster trusts: who may sign for which role, credentials, and keys of engines.
import { hkdfSync, randomBytes } from 'node:crypto'
import { access, chmod, mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import {
  type Account,
  decode,
  encodeAccount,
  encodeOperator,
  encodeUser,
  fmtCreds,
  newScopedSigner,
  type OperatorLimits,
  type RevocationList,
} from '@nats-io/jwt'
import {
  createAccount,
  createOperator,
  createUser,
  fromPublic,
  fromSeed,
  type KeyPair,
} from '@nats-io/nkeys'
import { LlmgwError, messageOf } from '../kernel/errors.ts'
import { tokenSchema } from './contract/names.ts'
import { parseJson } from './contract/problem.ts'
import { identitySchema, type StoredIdentity } from './contract/stored.ts'
import { permissions, type Role, roles } from './contract/subjects.ts'
import { writeDurably } from './durable-file.ts'

/** What nats-server is told: whose signatures it believes. Nothing in it is secret. */
export type Trust = {
  operatorJwt: string
  systemAccount: string
  accountJwts: Readonly<Record<string, string>>
}

type Keys = Omit<StoredIdentity, 'jwts' | 'version'>

/** The whole identity; whoever holds it can make credentials for every role. */
export interface Identity {
  readonly trust: Trust
  /** Public key of the account that all programs belong to. */
  readonly account: string
  readonly stored: StoredIdentity
  /** What the keys of engines are derived from; held by leaders and routers. */
  readonly engineSecret: Uint8Array
}

/** Where the secret for engines' keys is kept below a data folder, for programs that need it alone. */
export const engineSecretPath = (dataDir: string): string =>
  join(dataDir, 'credentials', 'engine.key')

/**
 * Reads the identity below a data folder, and makes what is missing of it: all of it at the first
 * time, later the keys of new roles. Each file is whole or not there. Throws
 * LLMGW_IDENTITY_DAMAGED rather than replace keys that cannot be read.
 */
export const createIdentity = async (dataDir: string): Promise<Identity> => {
  for (const name of ['identity', 'credentials']) {
    const folder = join(dataDir, name)
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await chmod(folder, 0o700)
  }
  const path = join(dataDir, 'identity', 'identity.json')
  const found = await readStored(path)
  if (!found && (await isThere(join(dataDir, 'nats', 'jetstream')))) {
    throw damaged(path, 'the file is missing, and the data in nats/ belongs to its keys')
  }
  const stored = await complete(found).catch((thrown: unknown) => {
    throw damaged(path, messageOf(thrown))
  })
  if (!isDeepStrictEqual(stored, found)) {
    await writeDurably(path, `${JSON.stringify(stored, null, 2)}\n`, 0o600)
  }
  const system = keyOf(stored.system).getPublicKey()
  const account = keyOf(stored.account).getPublicKey()
  return {
    trust: {
      operatorJwt: stored.jwts.operator,
      systemAccount: system,
      accountJwts: { [system]: stored.jwts.system, [account]: stored.jwts.account },
    },
    account,
    stored,
    engineSecret: await createEngineSecret(engineSecretPath(dataDir)),
  }
}

/** A credentials file's text for a program of ours: a new user of the role, limited to its subjects, with its seed. */
export const issueCredentials = async (
  identity: Identity,
  role: Role,
  name: string,
): Promise<string> => {
  const user = createUser()
  const jwt = await signUser(identity, role, name, user.getPublicKey())
  return new TextDecoder().decode(fmtCreds(jwt, user))
}

/** The token for a machine that keeps its seed to itself: `publicKey` may act as `name` in the role. */
export const signUser = async (
  identity: Identity,
  role: Role,
  name: string,
  publicKey: string,
): Promise<string> =>
  encodeUser(
    tokenSchema.parse(name),
    fromPublic(publicKey),
    fromPublic(identity.account),
    {},
    { signer: keyOf(seedOf(identity.stored, role)), scopedUser: true },
  )

/** Credentials that may push the account's token to the servers and hear which servers there are, and nothing else. */
export const issueSystemCredentials = async (identity: Identity): Promise<string> => {
  const user = createUser()
  const jwt = await encodeUser('system', user, keyOf(identity.stored.system), {
    pub: { allow: ['$SYS.REQ.CLAIMS.UPDATE'], deny: [] },
    sub: { allow: ['_INBOX.system.>', '$SYS.SERVER.*.STATSZ'], deny: [] },
  })
  return new TextDecoder().decode(fmtCreds(jwt, user))
}

/** The account's token with all users that are revoked: public key to the second of 1970 up to which its tokens are void. */
export const accountJwt = async (
  identity: Identity,
  revocations: RevocationList,
): Promise<string> => signAccount(identity.stored, revocations)

/** The key of a replica's engine, from the secret and the replica's id alone. */
export const deriveReplicaKey = (secret: Uint8Array, replica: string): string =>
  Buffer.from(hkdfSync('sha256', secret, '', `llmgw replica ${replica}`, 32)).toString('base64url')

/** Reads the secret for engines' keys that `createIdentity` made. */
export const readEngineSecret = async (path: string): Promise<Uint8Array> => {
  const secret = await readFile(path).catch((thrown: unknown) => {
    throw damaged(path, messageOf(thrown))
  })
  if (secret.length !== 32) throw damaged(path, `it has ${secret.length} bytes, not 32`)
  return new Uint8Array(secret)
}

async function createEngineSecret(path: string): Promise<Uint8Array> {
  if ((await readIfThere(path)) === undefined) await writeDurably(path, randomBytes(32), 0o600)
  return readEngineSecret(path)
}

async function readStored(path: string): Promise<StoredIdentity | undefined> {
  const text = await readIfThere(path)
  if (text === undefined) return undefined
  try {
    return parseJson(identitySchema, text.toString('utf8'))
  } catch (thrown) {
    throw damaged(path, messageOf(thrown))
  }
}

async function readIfThere(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path)
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw damaged(path, messageOf(thrown))
  }
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

const damaged = (path: string, problem: string): LlmgwError =>
  new LlmgwError('LLMGW_IDENTITY_DAMAGED', { path, problem })

/** Keeps all keys that are there. Tokens are signed anew only when they say something else, since the server takes the newest. */
async function complete(found: StoredIdentity | undefined): Promise<StoredIdentity> {
  const operator = found?.operator ?? seed(createOperator())
  const system = found?.system ?? seed(createAccount())
  const account = found?.account ?? seed(createAccount())
  const missing = roles.filter((role) => found?.roles[role] === undefined)
  const added = Object.fromEntries(missing.map((role) => [role, seed(createAccount())]))
  const keys = { operator, system, account, roles: { ...found?.roles, ...added } }
  const operatorKey = keyOf(operator)
  const systemKey = keyOf(system)
  const jwts = found?.jwts ?? {
    operator: await encodeOperator('llmgw', operatorKey, {
      system_account: systemKey.getPublicKey(),
    }),
    system: await encodeAccount('SYS', systemKey, { limits }, { signer: operatorKey }),
  }
  return {
    version: 1,
    ...keys,
    jwts: { ...jwts, account: await currentAccount(keys, found?.jwts.account) },
  }
}

async function currentAccount(keys: Keys, found: string | undefined): Promise<string> {
  if (found === undefined) return signAccount(keys, {})
  const said = (jwt: string) => decode<Account>(jwt).nats
  const wanted = await signAccount(keys, said(found).revocations ?? {})
  return isDeepStrictEqual(said(wanted), said(found)) ? found : wanted
}

const limits: OperatorLimits = {
  subs: -1,
  data: -1,
  payload: -1,
  imports: -1,
  exports: -1,
  wildcards: true,
  conn: -1,
  leaf: -1,
}

/** JetStream without a limit of the account's own; the server's and the buckets' hold. */
const jetStreamLimits: OperatorLimits = {
  mem_storage: -1,
  disk_storage: -1,
  streams: -1,
  consumer: -1,
  mem_max_stream_bytes: -1,
  disk_max_stream_bytes: -1,
  max_bytes_required: false,
  max_ack_pending: -1,
}

/** One answer to each message that came with a reply subject, within five minutes. */
const oneAnswer = { max: 1, ttl: 5 * 60 * 1e9 }

async function signAccount(keys: Keys, revocations: RevocationList): Promise<string> {
  const signers = roles.map((role) => {
    const { publish, subscribe, answers } = permissions[role]
    return newScopedSigner(fromPublic(keyOf(seedOf(keys, role)).getPublicKey()), role, {
      pub: { allow: [...publish], deny: [] },
      sub: { allow: [...subscribe], deny: [] },
      ...(answers ? { resp: oneAnswer } : {}),
    })
  })
  return encodeAccount(
    'LLMGW',
    fromPublic(keyOf(keys.account).getPublicKey()),
    { limits: { ...limits, ...jetStreamLimits }, signing_keys: signers, revocations },
    { signer: keyOf(keys.operator) },
  )
}

function seedOf(keys: Pick<Keys, 'roles'>, role: Role): string {
  const found = keys.roles[role]
  if (found === undefined) throw new Error(`no signing key for the role ${role}`)
  return found
}

const seed = (key: KeyPair): string => new TextDecoder().decode(key.getSeed())
const keyOf = (text: string): KeyPair => fromSeed(new TextEncoder().encode(text))
