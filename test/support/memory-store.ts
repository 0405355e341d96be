// A store in memory that behaves as the real one, and one around any store that fails on command.
import { LlmgwError } from '../../kernel/errors.ts'
import { decode, encode } from '../../transport/codec.ts'
import type { Entry, FencedBucket, LeaseBucket, Store } from '../../transport/store.ts'

type Bucket = {
  created: string
  last: number
  entries: Map<string, { at: number; bytes: Uint8Array }>
}

/** What several memory stores share, as candidates share one cluster's store. */
export interface MemoryBuckets {
  lease?: Bucket
  state?: Bucket
  route?: Bucket
}

let made = 0

/** A bucket as if it were just made: its revisions are above those of any made before. */
function makeBucket(): Bucket {
  made += 1
  return { created: `bucket ${made}`, last: made * 1_000_000, entries: new Map() }
}

/** Hand the same buckets to several stores to let them compete; delete one to have it recreated. */
export const memoryStore = (buckets: MemoryBuckets = {}): Store => ({
  lease: memoryLease(() => buckets.lease),
  state: memoryFenced('state', () => buckets.state),
  route: memoryFenced('route', () => buckets.route),
  async prepare() {
    const fresh = buckets.lease === undefined
    buckets.lease ??= makeBucket()
    buckets.state ??= makeBucket()
    buckets.route ??= makeBucket()
    return { fresh }
  },
})

function write(bucket: Bucket, key: string, value: unknown): number {
  bucket.last += 1
  bucket.entries.set(key, { at: bucket.last, bytes: encode(value) })
  return bucket.last
}

function read(bucket: Bucket, key: string): unknown {
  const found = bucket.entries.get(key)
  const decoded = found && decode(found.bytes, Number.POSITIVE_INFINITY, key)
  return decoded?.ok ? decoded.value : null
}

function memoryLease(find: () => Bucket | undefined): LeaseBucket {
  return {
    async read() {
      const bucket = present(find(), 'lease')
      const revision = bucket.entries.get('leader')?.at ?? 0
      return { value: read(bucket, 'leader'), revision, created: bucket.created, streamLeader: '' }
    },
    async compareAndSet(value, expect) {
      const bucket = find()
      if (!bucket) return { ok: false, why: 'unknown' }
      if ((bucket.entries.get('leader')?.at ?? 0) !== expect) return { ok: false, why: 'mismatch' }
      return { ok: true, revision: write(bucket, 'leader', value) }
    },
  }
}

function memoryFenced(name: string, find: () => Bucket | undefined): FencedBucket {
  let fence: number | undefined
  const fenced = (key: string): Bucket => {
    const bucket = present(find(), name)
    if (fence === undefined) throw new Error('a fence must be taken before anything is written')
    if (bucket.entries.get('fence')?.at !== fence) throw new LlmgwError('LLMGW_FENCED', { key })
    return bucket
  }
  return {
    async takeFence(token) {
      const bucket = present(find(), name)
      const standing = read(bucket, 'fence') as { token: number } | null
      if (standing && standing.token > token) throw new LlmgwError('LLMGW_FENCED', { key: 'fence' })
      fence = write(bucket, 'fence', { token })
    },
    async entries() {
      const bucket = present(find(), name)
      return Array.from(bucket.entries, ([key, { at }]): Entry => {
        return { key, value: read(bucket, key), revision: at }
      }).filter((entry) => entry.key !== 'fence')
    },
    async put(key, value) {
      return write(fenced(key), key, value)
    },
    async delete(key) {
      const bucket = fenced(key)
      bucket.last += 1
      bucket.entries.delete(key)
    },
  }
}

function present(bucket: Bucket | undefined, name: string): Bucket {
  if (bucket) return bucket
  throw new LlmgwError('LLMGW_STORE_FAILED', { key: name, problem: 'there is no such bucket' })
}

/** How an operation fails: before it was applied, or after, with its answer lost. */
export type Fault = 'lost' | 'applied'
export type StoreOperation = 'read' | 'compareAndSet' | 'takeFence' | 'entries' | 'put' | 'delete'

/** A store whose operations fail where `fault` says so; asked at each of them, with its bucket. */
export const failingStore = (
  store: Store,
  fault: (operation: StoreOperation, bucket: 'lease' | 'state' | 'route') => Fault | undefined,
): Store => {
  const guarded = async <T>(
    operation: StoreOperation,
    bucket: 'lease' | 'state' | 'route',
    work: () => Promise<T>,
  ): Promise<T> => {
    const how = fault(operation, bucket)
    if (how === undefined) return work()
    if (how === 'applied') await work()
    throw new LlmgwError('LLMGW_STORE_FAILED', { key: bucket, problem: 'told to fail' })
  }
  const fenced = (name: 'state' | 'route'): FencedBucket => ({
    takeFence: (token) => guarded('takeFence', name, () => store[name].takeFence(token)),
    entries: () => guarded('entries', name, () => store[name].entries()),
    put: (key, value) => guarded('put', name, () => store[name].put(key, value)),
    delete: (key) => guarded('delete', name, () => store[name].delete(key)),
  })
  return {
    lease: {
      read: () => guarded('read', 'lease', () => store.lease.read()),
      compareAndSet: (...args) =>
        guarded('compareAndSet', 'lease', () => store.lease.compareAndSet(...args)).catch(() => ({
          ok: false,
          why: 'unknown',
        })),
    },
    state: fenced('state'),
    route: fenced('route'),
    prepare: () => store.prepare(),
  }
}
