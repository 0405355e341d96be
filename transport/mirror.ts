// A bucket's content in memory, kept right: one watch, and looks that find out when it went deaf.
import type { Behaviour, ChildSpec } from '../kernel/actor.ts'
import { messageOf } from '../kernel/errors.ts'
import type { NatsBus } from './bus.ts'
import { openJetStream } from './jetstream.ts'
import {
  init,
  type MirrorEffect,
  type MirrorEvent,
  type MirrorMessage,
  type MirrorState,
  transition,
} from './mirror-state.ts'
import { type Entry, toEntry } from './store.ts'

export type { MirrorEvent, MirrorMessage } from './mirror-state.ts'

/** What a mirror needs of the world. */
export interface MirrorPorts {
  /** All entries first, then each change in the order of revisions, until `stop` or `ended`. */
  watch(on: {
    listed(entries: Entry[], revision: number, created: string): void
    changed(entry: Entry, deleted: boolean): void
    ended(reason: string): void
  }): { stop(): void }
  /** When the bucket was made, and its highest revision. */
  look(): Promise<{ created: string; last: number }>
  onReconnect(listener: () => void): () => void
  warn(reason: string): void
}

/**
 * Tells `owner` all entries once it has them, then each change, and all of them again whenever
 * some may have been missed; no change older than one already told. Until the bucket is there it
 * tells nothing and goes on trying; why, it warns of once.
 */
const mirror = (
  ports: MirrorPorts,
  owner: (event: MirrorEvent) => void,
): Behaviour<MirrorState, MirrorMessage, MirrorEffect> => {
  let endWatch = (): void => undefined
  let endAttention = (): void => undefined
  return {
    init,
    transition,
    perform(effect, self) {
      switch (effect.do) {
        case 'attend':
          endAttention()
          endAttention = ports.onReconnect(() => self.tell({ type: 'reconnected' }))
          return
        case 'watch': {
          const { attempt } = effect
          endWatch()
          const watching = ports.watch({
            listed: (entries, revision, created) =>
              self.tell({ type: 'listed', attempt, entries, revision, created }),
            changed(entry, deleted) {
              // a change that the mailbox refuses is as missed as one never heard, and found by the next looks
              if (!self.tell({ type: 'changed', attempt, entry, deleted })) watching.stop()
            },
            ended: (reason) => self.tell({ type: 'ended', attempt, reason }),
          })
          endWatch = watching.stop
          return
        }
        case 'look': {
          const { attempt } = effect
          ports.look().then(
            (it) => self.tell({ type: 'looked', attempt, ...it }),
            (e: unknown) => self.tell({ type: 'unseen', attempt, reason: messageOf(e) }),
          )
          return
        }
        case 'wait':
          return self.after(effect.delayMs, { type: 'due', attempt: effect.attempt })
        case 'tell':
          return owner(effect.event)
        case 'warn':
          return ports.warn(effect.reason)
      }
    },
    async stopped() {
      endWatch()
      endAttention()
    },
  }
}

/** A mirror as a child: restarted for ever within reason, with room for a burst of changes. */
export const mirrorSpec = (
  name: string,
  ports: MirrorPorts,
  owner: (event: MirrorEvent) => void,
): ChildSpec<MirrorState, MirrorMessage, MirrorEffect> => ({
  name,
  behaviour: mirror(ports, owner),
  restart: 'permanent',
  intensity: 5,
  periodMs: 60_000,
  delayMs: { min: 100, max: 5000 },
  capacity: 4096,
  overflow: 'refuse',
  stopMs: 1000,
})

/** A bucket of JetStream, by its name without the stream's prefix; `warn` hears why it cannot be followed. */
export const natsMirrorPorts = (
  bus: NatsBus,
  bucket: string,
  warn: (reason: string) => void,
): MirrorPorts => {
  const jet = openJetStream(bus)
  return {
    warn,
    watch: (on) =>
      jet.watch(bucket, {
        listed: (entries, revision, created) => on.listed(entries.map(toEntry), revision, created),
        changed: (raw) => on.changed(toEntry(raw), raw.deleted),
        ended: on.ended,
      }),
    async look() {
      const info = await jet.info(bucket)
      if (!info) throw new Error(`there is no bucket ${bucket}`)
      return { created: info.created, last: info.last }
    },
    onReconnect: (listener) =>
      bus.onStatus((status) => {
        if (status.type === 'connected') listener()
      }),
  }
}
