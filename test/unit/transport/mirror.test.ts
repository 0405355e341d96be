// How the mirror does what it decided: one watch at a time, and none that its mailbox cannot follow.
import t from 'tap'
import type { Self } from '../../../kernel/actor.ts'
import {
  type MirrorEvent,
  type MirrorMessage,
  type MirrorPorts,
  mirrorSpec,
} from '../../../transport/mirror.ts'

function setUp({ accepts = true, look }: { accepts?: boolean; look?: MirrorPorts['look'] } = {}) {
  const log: string[] = []
  const told: MirrorMessage[] = []
  const heard: MirrorEvent[] = []
  let events: Parameters<MirrorPorts['watch']>[0] | undefined
  const ports: MirrorPorts = {
    watch(on) {
      events = on
      log.push('watch')
      return { stop: () => log.push('stop') }
    },
    warn: (reason) => log.push(`warn ${reason}`),
    look: look ?? (async () => ({ created: 'c', last: 7 })),
    onReconnect(listener) {
      log.push('attend')
      listener()
      return () => log.push('unattend')
    },
  }
  const self = {
    tell(message: MirrorMessage) {
      told.push(message)
      return accepts
    },
    after: (delayMs: number, message: MirrorMessage) => {
      log.push(`${message.type} after ${delayMs}`)
    },
  } as Self<MirrorMessage>
  const { behaviour } = mirrorSpec('m', ports, (event) => heard.push(event))
  return { behaviour, self, log, told, heard, events: () => events }
}
const entry = { key: 'a', value: 1, revision: 2 }

t.test('a new watch ends the one before, and what it tells bears its attempt', async (t) => {
  const { behaviour, self, log, told, events } = setUp()
  behaviour.perform({ do: 'watch', attempt: 1 }, self)
  behaviour.perform({ do: 'watch', attempt: 2 }, self)
  t.strictSame(log, ['watch', 'stop', 'watch'])
  events()?.listed([entry], 2, 'c')
  events()?.changed(entry, true)
  events()?.ended('why')
  t.strictSame(told, [
    { type: 'listed', attempt: 2, entries: [entry], revision: 2, created: 'c' },
    { type: 'changed', attempt: 2, entry, deleted: true },
    { type: 'ended', attempt: 2, reason: 'why' },
  ])
})

t.test('a change that the mailbox refuses ends the watch', async (t) => {
  const { behaviour, self, log, events } = setUp({ accepts: false })
  behaviour.perform({ do: 'watch', attempt: 1 }, self)
  events()?.changed(entry, false)
  t.strictSame(log, ['watch', 'stop'])
})

t.test('a look ends as a fact, whichever way', async (t) => {
  const good = setUp()
  good.behaviour.perform({ do: 'look', attempt: 3 }, good.self)
  const bad = setUp({ look: () => Promise.reject(new Error('gone')) })
  bad.behaviour.perform({ do: 'look', attempt: 3 }, bad.self)
  await new Promise(setImmediate)
  t.strictSame(good.told, [{ type: 'looked', attempt: 3, created: 'c', last: 7 }])
  t.strictSame(bad.told, [{ type: 'unseen', attempt: 3, reason: 'gone' }])
})

t.test(
  'it attends to reconnects once, waits, tells its owner, and leaves nothing behind',
  async (t) => {
    const { behaviour, self, log, told, heard } = setUp()
    behaviour.perform({ do: 'attend' }, self)
    behaviour.perform({ do: 'attend' }, self)
    t.strictSame(told, [{ type: 'reconnected' }, { type: 'reconnected' }])
    behaviour.perform({ do: 'watch', attempt: 1 }, self)
    behaviour.perform({ do: 'wait', attempt: 1, delayMs: 9 }, self)
    const event: MirrorEvent = { type: 'put', entry }
    behaviour.perform({ do: 'tell', event }, self)
    behaviour.perform({ do: 'warn', reason: 'why' }, self)
    t.strictSame(heard, [event])
    await behaviour.stopped?.({ phase: 'listing', attempt: 1, known: null })
    t.strictSame(log, [
      'attend',
      'unattend',
      'attend',
      'watch',
      'due after 9',
      'warn why',
      'stop',
      'unattend',
    ])
  },
)
