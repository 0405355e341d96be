// The defects of nact 7.6.2 that were measured, each shown absent from actors that run on it through the kernel.
import { setTimeout } from 'node:timers/promises'
import { dispatch, spawn, start, stop } from 'nact'
import t from 'tap'
import type { Behaviour, Ref } from '../../../kernel/actor.ts'
import { systemClock } from '../../../kernel/clock.ts'
import { type CrashReport, startSystem } from '../../../kernel/system.ts'
import { type Act, doer, lab, settle, specOf } from '../../support/actors.ts'

const boom: Act = () => {
  throw new Error('boom')
}

t.test(
  '1: stopping a parent stops its children: no message, no timer of theirs comes after',
  async (t) => {
    const { system, clock } = lab()
    let worked = 0
    let stopped = 0
    const child = specOf('child', {
      ...doer((self) => self.after(10, () => void t.fail('a timer came'))),
      stopped: async () => {
        stopped += 1
      },
    })
    const at = system.address<Act>('child')
    const parent = system.spawn(
      specOf('parent', doer(), { children: [{ ...child, at }], restart: 'temporary' }),
    )
    for (let count = 0; count < 20; count += 1) {
      at.tell(() => {
        worked += 1
      })
    }
    parent.tell((self) => self.end())
    await settle()
    const before = worked
    t.equal(stopped, 1)
    t.equal(
      at.tell(() => {}),
      false,
    )
    await settle()
    t.equal(worked, before)
    t.equal(clock.pending, 0)
    await system.stop()
  },
)

t.test(
  '2: a child that escalates never makes its parent work on two messages at once',
  async (t) => {
    const { system, clock } = lab()
    const seen: number[] = []
    let busy = 0
    const child = specOf('child', doer(boom), { intensity: 0 })
    const behaviour: Behaviour<null, number, number> = {
      init: () => [null, []],
      transition: (state, message) => [state, [message]],
      perform(message, self) {
        busy += 1
        if (busy > 1) t.fail('two at once')
        seen.push(message)
        if (message === 5) self.spawn(child)
        busy -= 1
      },
    }
    const parent = system.spawn(specOf('parent', behaviour))
    const messages = Array.from({ length: 90 }, (_, index) => index)
    for (const message of messages) parent.tell(message)
    await settle()
    clock.advance(10)
    await settle()
    t.same(seen, messages, 'each once, in order, the restart in between')
    await system.stop()
  },
)

t.test(
  '3: the restart of a busy sibling leaves one incarnation, and its state is fresh',
  async (t) => {
    const { system, clock } = lab()
    const seen: string[] = []
    const late: (() => void)[] = []
    const busy: Behaviour<number, 'work' | 'fact', number> = {
      init: () => [0, []],
      transition: (state, message) => [message === 'fact' ? 100 : state + 1, [state + 1]],
      perform(effect, self) {
        seen.push(`${self.uid}:${effect}`)
        late.push(() => t.equal(self.tell('fact'), self.uid === b.uid))
      },
    }
    const at = system.address<Act>('a')
    const b = system.address<'work' | 'fact'>('b')
    const children = [specOf('a', doer(), { at }), specOf('b', busy, { at: b })]
    system.spawn(specOf('parent', doer(), { children, strategy: 'rest-for-one' }))
    b.tell('work')
    await settle()
    const first = b.uid
    at.tell(boom)
    await settle()
    clock.advance(10)
    b.tell('work')
    await settle()
    for (const tell of late) tell()
    t.same(seen, [`${first}:1`, `${b.uid}:1`])
    await system.stop()
  },
)

t.test('4: an init that always throws blocks neither timers nor the event loop', async (t) => {
  const crashes: CrashReport[] = []
  const system = startSystem({ clock: systemClock, onCrash: (report) => crashes.push(report) })
  const behaviour = {
    ...doer(),
    init: () => {
      throw new Error('never')
    },
  }
  const startedAt = performance.now()
  const delayMs = { min: 0, max: 5 }
  system.spawn(specOf('a', behaviour, { intensity: 10_000, periodMs: 60_000, delayMs }))
  await setTimeout(50)
  t.ok(performance.now() - startedAt < 1000, 'the timer fired')
  t.ok(crashes.length >= 3 && crashes.length <= 60, `${crashes.length} starts`)
  await system.stop()
})

t.test('5: a hook that throws and a failure after the stop do not end the process', async (t) => {
  const warned: Error[] = []
  const onWarning = (warning: Error) => warned.push(warning)
  process.on('warning', onWarning)
  const system = startSystem({
    clock: systemClock,
    onCrash: () => {
      throw new Error('the hook')
    },
  })
  let fail: (error: Error) => void = () => {}
  const late = new Promise<void>((_, reject) => {
    fail = reject
  })
  const ref = system.spawn(specOf('a', { ...doer(), perform: () => late }))
  ref.tell(boom)
  await settle()
  await system.stop()
  fail(new Error('late'))
  await settle()
  process.off('warning', onWarning)
  t.match(warned, [{ message: 'a hook of the actor system threw: Error: the hook' }])
})

t.test('6: `stopped` may throw, reject, or reject when nobody waits any more', async (t) => {
  const { system, clock, crashes } = lab()
  let reject: (error: Error) => void = () => {}
  const throws = () => {
    throw new Error('throws')
  }
  const late = () =>
    new Promise<void>((_, fail) => {
      reject = fail
    })
  system.spawn(specOf('late', { ...doer(), stopped: late }))
  system.spawn(
    specOf('rejects', { ...doer(), stopped: () => Promise.reject(new Error('rejects')) }),
  )
  system.spawn(specOf('throws', { ...doer(), stopped: throws }))
  const stopped = system.stop()
  await settle()
  clock.advance(50)
  await stopped
  reject(new Error('late'))
  await settle()
  t.same(
    crashes.map(({ path, error }) => `${path} ${error.message}`),
    ['/throws throws', '/rejects rejects', '/late stopped() was not through after 50 ms'],
  )
})

t.test(
  '7: a name can be used again, and the old address does not reach the new actor',
  async (t) => {
    const { system } = lab()
    const old = system.spawn(specOf('a', doer(), { restart: 'temporary' }))
    old.tell((self) => self.end())
    await settle()
    const now = system.spawn(specOf('a', doer()))
    t.not(now.uid, old.uid)
    t.equal(
      old.tell(() => t.fail('reached')),
      false,
    )
    await settle()
    await system.stop()
  },
)

for (const overflow of ['refuse', 'drop-oldest'] as const) {
  t.test(
    `8: a million messages to a stuck actor stay within its bound (${overflow})`,
    async (t) => {
      let lost = 0
      const system = startSystem({
        clock: systemClock,
        onDeadLetter: () => {
          lost += 1
        },
      })
      const seen: number[] = []
      const behaviour: Behaviour<null, { id: number }, number> = {
        init: () => [null, []],
        transition: (state, { id }) => [state, [id]],
        perform: (id) => void seen.push(id),
      }
      const ref = system.spawn(specOf('stuck', behaviour, { capacity: 1024, overflow }))
      const before = process.memoryUsage().heapUsed
      let taken = 0
      for (let id = 0; id < 1_000_000; id += 1) if (ref.tell({ id })) taken += 1
      const grownMiB = (process.memoryUsage().heapUsed - before) / 2 ** 20
      t.ok(grownMiB < 64, `${grownMiB.toFixed(0)} MiB, garbage included`)
      t.equal(taken, overflow === 'refuse' ? 1024 : 1_000_000)
      t.equal(lost, 1_000_000 - 1024)
      await settle(60)
      t.equal(seen.length, 1024)
      t.equal(seen[0], overflow === 'refuse' ? 0 : 1_000_000 - 1024)
      await system.stop()
    },
  )
}

t.test('9: what the pump takes of nact is there at runtime, not in its types alone', async (t) => {
  for (const taken of [dispatch, spawn, start, stop]) t.type(taken, 'function')
})

t.test('an async perform that rejects while the actor lives is its crash', async (t) => {
  const { system, clock, crashes } = lab()
  const perform = () => Promise.reject(new Error('rejected'))
  const ref: Ref<Act> = system.spawn(specOf('a', { ...doer(), perform }))
  ref.tell(() => {})
  await settle()
  clock.advance(10)
  t.match(crashes, [
    { during: 'perform', error: { message: 'rejected' }, next: { restartInMs: 10 } },
  ])
  await system.stop()
})
