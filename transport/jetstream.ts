// Buckets of JetStream as the store and the mirror need them: settings, single writes, and one watch.
import {
  DiscardPolicy,
  JetStreamApiError,
  type JetStreamManager,
  jetstream,
  jetstreamManager,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
  type StreamInfo,
} from '@nats-io/jetstream'
import { type KV, Kvm } from '@nats-io/kv'
import { headers } from '@nats-io/transport-node'
import { messageOf } from '../kernel/errors.ts'
import type { NatsBus } from './bus.ts'
import { exchange } from './exchange.ts'

/** For a request to the server's interface; an election of a bucket's leader fits in. */
const apiTimeoutMs = 10_000

/** For a listing, before it counts as deaf. */
const listingMs = 10_000

/** What remains of a deleted key, so that watchers hear of it, goes after this time. */
const markerTtl = '1h'

/** The header of a message that deletes or purges its key. */
const operationHeader = 'KV-Operation'

/** "wrong last sequence", and the same for a write that is still under way. */
const mismatches: readonly number[] = [10071, 10164]

export type BucketSettings = {
  bucket: string
  maxBytes: number
  maxValueBytes: number
  replicas: number
}

type BucketInfo = {
  created: string
  /** Highest revision ever given, also where its entry is gone. */
  last: number
  /** Empty where there is one server. */
  streamLeader: string
  config: StreamConfig
}

export type RawEntry = { key: string; bytes: Uint8Array; revision: number; deleted: boolean }

/** Refused unless `after` is the highest revision of `subjectKey`; 0 for none. */
type Expectation = { subjectKey: string; after: number; withinMs: number }

type Written =
  | { ok: true; revision: number }
  | { ok: false; why: 'mismatch' | 'unknown'; problem: string }

interface WatchEvents {
  /** Once, and first: all entries, complete up to `revision`. */
  listed(entries: readonly RawEntry[], revision: number, created: string): void
  changed(entry: RawEntry): void
  /** At most once, and last. */
  ended(reason: string): void
}

export interface JetStream {
  /** Undefined where there is no such bucket. */
  info(bucket: string, withinMs?: number): Promise<BucketInfo | undefined>
  /** False where another was quicker to make it. */
  create(settings: BucketSettings): Promise<boolean>
  /** The newest entry of a key, or of all, as the stream's leader has it. */
  newest(bucket: string, key: string, withinMs?: number): Promise<RawEntry | undefined>
  /** One try: its outcome may be unknown. A null value deletes. */
  write(
    bucket: string,
    key: string,
    value: Uint8Array | null,
    expect: Expectation,
  ): Promise<Written>
  /** All entries and then each change, in the order of revisions, until `stop`. */
  watch(bucket: string, on: WatchEvents): { stop(): void }
}

/** Without `withinMs` its requests wait ten seconds. All of them wait for a connection, and fail when it is lost. */
export const openJetStream = (bus: NatsBus): JetStream => {
  const client = jetstream(bus.connection, { timeout: apiTimeoutMs })
  // without the check of the account, which not every role may ask for
  const managing = jetstreamManager(bus.connection, { checkAPI: false, timeout: apiTimeoutMs })
  const info: JetStream['info'] = (bucket, withinMs = apiTimeoutMs) =>
    exchange(bus, withinMs, async () => bucketInfo(await managing, bucket))
  const newest: JetStream['newest'] = (bucket, key, withinMs = apiTimeoutMs) =>
    exchange(bus, withinMs, async () => newestEntry(await managing, bucket, key))
  const open: Reads['open'] = (bucket) => {
    let abandoned = false
    return exchange(bus, apiTimeoutMs, async () => {
      const changes = await (await new Kvm(client).open(bucket)).watch()
      if (abandoned) changes.stop()
      return changes
    }).catch((thrown: unknown) => {
      abandoned = true
      throw thrown
    })
  }
  return {
    info,
    newest,
    create: (settings) =>
      exchange(bus, apiTimeoutMs, async () => createBucket(await managing, settings)),
    write: (bucket, key, value, { subjectKey, after, withinMs }) =>
      exchange(bus, withinMs, (timeout) =>
        client.publish(subjectOf(bucket, key), value ?? new Uint8Array(), {
          timeout,
          retries: 1,
          expect: {
            lastSubjectSequence: after,
            lastSubjectSequenceSubject: subjectOf(bucket, subjectKey),
          },
          ...(value === null ? deletion() : {}),
        }),
      ).then(
        ({ seq }): Written => ({ ok: true, revision: seq }),
        (thrown: unknown): Written => {
          const why = mismatches.includes(codeOf(thrown)) ? 'mismatch' : 'unknown'
          return { ok: false, why, problem: messageOf(thrown) }
        },
      ),
    watch(bucket, on) {
      const aborted = new AbortController()
      const { signal } = aborted
      watch({ info, newest, open }, bucket, on, signal).catch((thrown: unknown) => {
        if (!signal.aborted) on.ended(messageOf(thrown))
      })
      return { stop: () => aborted.abort() }
    },
  }
}

const streamOf = (bucket: string): string => `KV_${bucket}`
const subjectOf = (bucket: string, key: string): string => `$KV.${bucket}.${key}`
const codeOf = (thrown: unknown): number => (thrown instanceof JetStreamApiError ? thrown.code : 0)

async function bucketInfo(
  manager: JetStreamManager,
  bucket: string,
): Promise<BucketInfo | undefined> {
  let info: StreamInfo
  try {
    info = await manager.streams.info(streamOf(bucket))
  } catch (thrown) {
    if (codeOf(thrown) === 10059) return undefined // stream not found
    throw thrown
  }
  return {
    created: String(info.created),
    last: info.state.last_seq,
    streamLeader: info.cluster?.leader ?? '',
    config: info.config,
  }
}

/** What a bucket's stream must be like; compared with what one is that exists. */
export const bucketConfig = (settings: BucketSettings) =>
  ({
    name: streamOf(settings.bucket),
    subjects: [subjectOf(settings.bucket, '>')],
    retention: RetentionPolicy.Limits,
    storage: StorageType.File,
    num_replicas: settings.replicas,
    max_msgs_per_subject: 1,
    max_bytes: settings.maxBytes,
    max_msg_size: settings.maxValueBytes,
    discard: DiscardPolicy.New,
    // answers of a replica that lags are worse than none
    allow_direct: false,
    allow_msg_ttl: true,
    allow_rollup_hdrs: false,
    deny_delete: true,
    deny_purge: true,
  }) satisfies Partial<StreamConfig>

async function createBucket(manager: JetStreamManager, settings: BucketSettings): Promise<boolean> {
  try {
    // revisions start at a time, so that those of a bucket made again never meet the old ones
    const first_seq = Date.now() * 1000
    await manager.streams.add({ ...bucketConfig(settings), first_seq })
    return true
  } catch (thrown) {
    if (codeOf(thrown) === 10058) return false // name already in use
    throw thrown
  }
}

async function newestEntry(
  manager: JetStreamManager,
  bucket: string,
  key: string,
): Promise<RawEntry | undefined> {
  const found = await manager.streams.getMessage(streamOf(bucket), {
    last_by_subj: subjectOf(bucket, key),
  })
  if (!found) return undefined
  return {
    key: found.subject.slice(subjectOf(bucket, '').length),
    bytes: found.data,
    revision: found.seq,
    deleted: found.header?.has(operationHeader) ?? false,
  }
}

function deletion() {
  const marked = headers()
  marked.set(operationHeader, 'DEL')
  return { headers: marked, ttl: markerTtl }
}

type Reads = Pick<JetStream, 'info' | 'newest'> & {
  open(bucket: string): Promise<Changes>
}
type Changes = Awaited<ReturnType<KV['watch']>>

async function watch(
  reads: Reads,
  bucket: string,
  on: WatchEvents,
  signal: AbortSignal,
): Promise<void> {
  const info = await reads.info(bucket)
  if (!info) throw new Error(`there is no bucket ${bucket}`)
  // entries may come from a replica that lags: they are complete once this one is among them
  const head = (await reads.newest(bucket, '>'))?.revision ?? 0
  const changes = await reads.open(bucket)
  const stop = (): void => changes.stop()
  signal.addEventListener('abort', stop)
  if (signal.aborted) stop()

  const entries = new Map<string, RawEntry>()
  let seen = info.last
  let listed = false
  const deadline = setTimeout(stop, listingMs)
  const list = (): void => {
    listed = true
    clearTimeout(deadline)
    const living = [...entries.values()].filter((entry) => !entry.deleted)
    on.listed(living, Math.max(seen, info.last), info.created)
  }
  try {
    if (head === 0 && !signal.aborted) list()
    for await (const { key, value, revision, operation } of changes) {
      if (signal.aborted) return
      const entry = { key, bytes: value, revision, deleted: operation !== 'PUT' }
      if (listed) on.changed(entry)
      else {
        entries.set(key, entry)
        seen = Math.max(seen, revision)
        if (revision >= head) list()
      }
    }
  } finally {
    clearTimeout(deadline)
    signal.removeEventListener('abort', stop)
  }
  throw new Error(listed ? 'the watch ended' : `no complete list within ${listingMs} ms`)
}
