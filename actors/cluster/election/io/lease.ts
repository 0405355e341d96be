// The lease in the store: looks at it, writes it, gives it back.
import { LlmgwError, messageOf } from '../../../../kernel/errors.ts'
import type { Store } from '../../../../transport/store.ts'
import type { Ports } from '../actor.ts'
import { type LeaseRecord, recordSchema, type Sight } from '../protocol.ts'
import { isGone } from './process-identity.ts'

/** One write of the lease; with the retry after it well under the renewal's period. */
const requestMs = 1500

/** The ports that touch the store. `epoch` is the connection's at the time of the call. */
export function leasePorts(
  store: Store,
  epoch: () => number,
  self: LeaseRecord['process'],
  warn: (problem: string) => void,
): Pick<Ports, 'look' | 'store' | 'fence' | 'release'> {
  const look = async (): Promise<Sight> => {
    const before = epoch()
    const { value, revision, created, streamLeader } = await store.lease.read()
    const record = revision === 0 || value === null ? null : recordSchema.parse(value)
    const holderDead = record !== null && (await isGone(record.process, self))
    return { record, revision, created, streamLeader, epoch: before, holderDead }
  }
  const write = async (record: LeaseRecord, expect: number) => {
    const answer = await store.lease.compareAndSet(record, expect, requestMs)
    return answer.ok ? answer.revision : answer.why
  }
  return {
    look: () =>
      look().catch((error: unknown) => {
        warn(`the lease cannot be read: ${messageOf(error)}`)
        throw error
      }),
    store: (record, expect) =>
      write(record, expect).catch((error: unknown) => {
        warn(`the lease was not answered: ${messageOf(error)}`)
        return 'unknown' as const
      }),
    async fence(token) {
      try {
        await store.state.takeFence(token)
        await store.route.takeFence(token)
        return 'fenced'
      } catch (error) {
        warn(`the fences were not taken: ${messageOf(error)}`)
        const deposed = error instanceof LlmgwError && error.code === 'LLMGW_FENCED'
        return deposed ? 'deposed' : 'failed'
      }
    },
    async release(record, revision) {
      try {
        const answer = await write(record, revision)
        if (answer !== 'mismatch') return
        // a renewal was under way: the record is still this holder's, at a revision it was not told
        const now = await look()
        const mine = now.record?.holder.uid === record.holder.uid
        if (mine && now.record?.epoch === record.epoch) await write(record, now.revision)
      } catch (error) {
        warn(`the lease was not given back, a successor waits for it: ${messageOf(error)}`)
      }
    },
  }
}
