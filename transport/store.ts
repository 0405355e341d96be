// The lasting store: buckets of JetStream KV with fenced writes and compare-and-set.
import { LlmgwError, messageOf } from '../kernel/errors.ts'
import type { NatsBus } from './bus.ts'
import { decode, encode } from './codec.ts'
import { maxMessageBytes } from './contract/envelope.ts'
import { fenceSchema } from './contract/stored.ts'
import { buckets, fenceKey } from './contract/subjects.ts'
import {
  type BucketSettings,
  bucketConfig,
  type JetStream,
  openJetStream,
  type RawEntry,
} from './jetstream.ts'
import { checkNatsVersion } from './nats-server.ts'

/** `value` is undefined where its bytes cannot be read. */
export type Entry = { key: string; value: unknown; revision: number }

/** A bucket that only the leader writes: each write carries the fence of its leadership. */
export interface FencedBucket {
  /** Writes the fence with the leadership's token by compare-and-set, after which older leaders' writes are refused. Throws LLMGW_FENCED where a higher token stands. */
  takeFence(token: number): Promise<void>
  /** All entries but the fence, as the server's leader has them. */
  entries(): Promise<Entry[]>
  /** Resolves with the revision once stored. Throws LLMGW_FENCED when another leader has taken over, LLMGW_STORE_FAILED otherwise (the outcome is then unknown). */
  put(key: string, value: unknown): Promise<number>
  delete(key: string): Promise<void>
}

/** One record that many may write, by compare-and-set only. */
export interface LeaseBucket {
  read(): Promise<{
    value: unknown
    /** 0 where there is no record. */
    revision: number
    /** Changes when the bucket is recreated. */
    created: string
    /** The server that leads the stream, where there are several. */
    streamLeader: string
  }>
  /** `expect` 0: there must be none. Refusal and unknown outcome are told apart. */
  compareAndSet(
    value: unknown,
    expect: number,
    withinMs: number,
  ): Promise<{ ok: true; revision: number } | { ok: false; why: 'mismatch' | 'unknown' }>
}

export interface Store {
  readonly lease: LeaseBucket
  readonly state: FencedBucket
  readonly route: FencedBucket
  /** Makes the buckets that are missing; `fresh` if the lease's was. Throws where an existing one has other settings. */
  prepare(): Promise<{ fresh: boolean }>
}

const leaseKey = 'leader'
const keyPattern = /^[-/=_A-Za-z0-9]+(\.[-/=_A-Za-z0-9]+)*$/

/** For a write; an election of the bucket's leader fits in. */
const writeMs = 10_000

/** For each of the two reads of the lease, which are due every second. */
const lookMs = 1500

/** What came in a message fits, with what is added to it. */
const maxValueBytes = maxMessageBytes + 64 * 1024

export type StoreOptions = {
  /** Servers that keep each bucket: 1, or 3 in a cluster of three. Default 1. */
  replicas?: number
}

/** The store over a connection. One for each leadership, since a fence once taken stays its own. */
export const openStore = (bus: NatsBus, options: StoreOptions = {}): Store => {
  const { replicas = 1 } = options
  const jet = openJetStream(bus)
  const settings: Record<keyof typeof buckets, BucketSettings> = {
    lease: settingsOf(buckets.lease, 4, replicas),
    state: settingsOf(buckets.state, 256, replicas),
    route: settingsOf(buckets.route, 128, replicas),
  }
  return {
    lease: leaseBucket(jet, buckets.lease),
    state: fencedBucket(jet, buckets.state),
    route: fencedBucket(jet, buckets.route),
    async prepare() {
      const version = checkNatsVersion(bus.serverVersion, bus.connection.getServer())
      if (!version.ok) throw new LlmgwError(version.error.code, version.error.details)
      const fresh = await prepareBucket(jet, settings.lease)
      await prepareBucket(jet, settings.state)
      await prepareBucket(jet, settings.route)
      return { fresh }
    },
  }
}

const settingsOf = (bucket: string, maxMiB: number, replicas: number): BucketSettings => ({
  bucket,
  maxBytes: maxMiB * 1024 * 1024,
  maxValueBytes,
  replicas,
})

/** True if the bucket was missing and this call made it. */
async function prepareBucket(jet: JetStream, settings: BucketSettings): Promise<boolean> {
  return asStoreFailure(settings.bucket, async () => {
    const made = (await jet.info(settings.bucket)) === undefined && (await jet.create(settings))
    const info = await jet.info(settings.bucket)
    if (!info) throw failed(settings.bucket, 'it was removed while it was made')
    for (const [name, wanted] of Object.entries(bucketConfig(settings))) {
      const found = JSON.stringify(info.config[name as keyof typeof info.config])
      if (found !== JSON.stringify(wanted)) {
        const problem = `its setting ${name} is ${found}, not ${JSON.stringify(wanted)}; export the state, remove the bucket, and import it again`
        throw failed(settings.bucket, problem)
      }
    }
    return made
  })
}

function leaseBucket(jet: JetStream, bucket: string): LeaseBucket {
  return {
    read: () =>
      asStoreFailure(leaseKey, async () => {
        const info = await jet.info(bucket, lookMs)
        if (!info) throw failed(leaseKey, `there is no bucket ${bucket}`)
        const found = await jet.newest(bucket, leaseKey, lookMs)
        const { created, streamLeader } = info
        if (!found || found.deleted) return { value: null, revision: 0, created, streamLeader }
        const { value, revision } = readable(found)
        return { value, revision, created, streamLeader }
      }),
    async compareAndSet(value, expect, withinMs) {
      const expected = { subjectKey: leaseKey, after: expect, withinMs }
      const written = await jet.write(bucket, leaseKey, encode(value), expected)
      return written.ok ? written : { ok: false, why: written.why }
    },
  }
}

function fencedBucket(jet: JetStream, bucket: string): FencedBucket {
  /** Revision of this leadership's own fence. */
  let fence: number | undefined
  const write = async (key: string, value: Uint8Array | null): Promise<number> => {
    if (fence === undefined) throw new Error('a fence must be taken before anything is written')
    if (key === fenceKey || !keyPattern.test(key)) throw new Error(`not a key: ${key}`)
    const expect = { subjectKey: fenceKey, after: fence, withinMs: writeMs }
    const written = await jet.write(bucket, key, value, expect)
    if (written.ok) return written.revision
    if (written.why === 'mismatch') throw new LlmgwError('LLMGW_FENCED', { key })
    throw failed(key, written.problem)
  }
  return {
    takeFence: (token) =>
      asStoreFailure(fenceKey, async () => {
        fence = await takeFence(jet, bucket, token)
      }),
    entries: () => asStoreFailure(bucket, () => listEntries(jet, bucket)),
    put: async (key, value) => write(key, encode(value)),
    async delete(key) {
      await write(key, null)
    },
  }
}

/** Each round loses to one other writer, of whom there are as many as there are candidates. */
async function takeFence(jet: JetStream, bucket: string, token: number): Promise<number> {
  for (let round = 0; round < 10; round++) {
    const found = await jet.newest(bucket, fenceKey)
    if (found) {
      const standing = fenceSchema.safeParse(readable(found).value)
      if (!standing.success) throw failed(fenceKey, 'what stands there is no fence')
      if (standing.data.token > token) throw new LlmgwError('LLMGW_FENCED', { key: fenceKey })
    }
    const expect = { subjectKey: fenceKey, after: found?.revision ?? 0, withinMs: writeMs }
    const written = await jet.write(bucket, fenceKey, encode({ token }), expect)
    if (written.ok) return written.revision
    if (written.why === 'unknown') throw failed(fenceKey, written.problem)
  }
  throw failed(fenceKey, 'others write it again and again')
}

function listEntries(jet: JetStream, bucket: string): Promise<Entry[]> {
  return new Promise((resolve, reject) => {
    const watching = jet.watch(bucket, {
      listed(entries) {
        watching.stop()
        try {
          resolve(entries.filter((entry) => entry.key !== fenceKey).map(readable))
        } catch (thrown) {
          reject(thrown)
        }
      },
      changed() {},
      ended: (reason) => reject(failed(bucket, reason)),
    })
  })
}

function readable(raw: RawEntry): Entry {
  const entry = toEntry(raw)
  if (entry.value === undefined) throw failed(raw.key, 'its bytes cannot be read')
  return entry
}

/** What was stored; `value` is undefined where its bytes cannot be read. */
export const toEntry = ({ key, bytes, revision }: RawEntry): Entry => {
  const decoded = decode(bytes, maxValueBytes, key)
  return { key, value: decoded.ok ? decoded.value : undefined, revision }
}

const failed = (key: string, problem: string): LlmgwError =>
  new LlmgwError('LLMGW_STORE_FAILED', { key, problem })

/** What the client throws becomes an error of the catalogue. */
async function asStoreFailure<T>(key: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (thrown) {
    if (thrown instanceof LlmgwError) throw thrown
    throw new LlmgwError(
      'LLMGW_STORE_FAILED',
      { key, problem: messageOf(thrown) },
      { cause: thrown },
    )
  }
}
