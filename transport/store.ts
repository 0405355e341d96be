// The lasting store: buckets of JetStream KV with fenced writes and compare-and-set.

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
