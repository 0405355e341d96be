// The actor system as its users see it: mailbox, restart, supervision, watch, the handle of a dead one.
import t from 'tap'
import type { End, Ref, Self } from '../../../kernel/actor.ts'
import { type Act, doer, lab, settle, specOf } from '../../support/actors.ts'

const boom: Act = () => {
  throw new Error('boom')
}

t.test(
  'the queue outlives a crash, the crashed message does not, and state starts anew',
  async (t) => {
    const { system, clock, crashes } = lab()
    const seen: string[] = []
    const counter = specOf<number, string, string>('counter', {
      init: () => [0, []],
      transition(state, message) {
        if (message === 'bad') throw new Error('bad message')
        return [state + 1, [`${message}:${state + 1}`]]
      },
      perform: (effect) => void seen.push(effect),
    })
    const ref = system.spawn(counter)
    const firstUid = ref.uid
    for (const message of ['a', 'b', 'bad', 'c']) t.ok(ref.tell(message))
    await settle()
    t.same(seen, ['a:1', 'b:2'])
    t.ok(ref.tell('d'), 'taken while it waits for its restart')
    clock.advance(10)
    await settle()
    t.same(seen, ['a:1', 'b:2', 'c:1', 'd:2'])
    t.not(ref.uid, firstUid)
    t.match(crashes, [{ path: '/counter', during: 'transition', next: { restartInMs: 10 } }])
    await system.stop()
    t.notOk(ref.tell('late'))
  },
)

t.test('children start in order before the parent works and stop in reverse', async (t) => {
  const { system } = lab()
  const log: string[] = []
  const child = (name: string) =>
    specOf(name, {
      ...doer(() => void log.push(`+${name}`)),
      stopped: async () => void log.push(`-${name}`),
    })
  const parent = specOf(
    'parent',
    {
      ...doer(
        () => void log.push('+parent'),
        (self) => void self.spawn(child('c')),
      ),
      stopped: async () => void log.push('-parent'),
    },
    { children: [child('a'), child('b')] },
  )
  system.spawn(parent)
  await settle()
  await system.stop()
  t.same(log, ['+a', '+b', '+parent', '+c', '-c', '-b', '-a', '-parent'])
})

t.test('past its budget the parent fails with it, and at the root the system does', async (t) => {
  const { system, clock } = lab()
  const child = specOf('child', doer(boom), { intensity: 1 })
  system.spawn(specOf('parent', doer(), { children: [child], intensity: 1 }))
  let failed: Error | undefined
  void system.failed.then((error) => {
    failed = error
  })
  for (let round = 0; round < 10 && !failed; round += 1) {
    await settle()
    clock.advance(10)
  }
  t.match(
    failed?.message,
    /^\/parent failed more than 1 times within 1000 ms: \/parent\/child failed/,
  )
  await system.stop()
})

t.test('a watcher hears the final end once, also of one that is gone or unknown', async (t) => {
  const { system } = lab()
  const ends: End[] = []
  const child = system.spawn(specOf('child', doer(), { restart: 'temporary' }))
  const watching: Act = (self) =>
    self.watch(child as Ref<never>, (end) => () => void ends.push(end))
  const watcher = system.spawn(specOf('watcher', doer(watching)))
  child.tell((self) => self.end())
  await settle()
  watcher.tell(watching)
  const stranger = { name: 'x', uid: 'x', tell: () => true }
  watcher.tell((self) => self.watch(stranger, (end) => () => void ends.push(end)))
  await settle()
  t.match(ends, [
    { reason: 'stopped', uid: child.uid },
    { reason: 'stopped' },
    { reason: 'unknown' },
  ])
  t.equal(ends.length, 3)
  await system.stop()
})

t.test('the Self of a dead incarnation refuses', async (t) => {
  const { system, clock } = lab()
  let old: Self<Act> | undefined
  const ref = system.spawn(
    specOf(
      'a',
      doer((self) => {
        old ??= self
      }),
    ),
  )
  ref.tell((self) => self.after(5, () => t.fail('a timer of the dead one fired')))
  ref.tell(boom)
  await settle()
  clock.advance(10)
  await settle()
  t.equal(
    old?.tell(() => t.fail('told')),
    false,
  )
  t.equal(
    old
      ?.spawn(
        specOf(
          'b',
          doer(() => t.fail('started')),
        ),
      )
      .tell(() => {}),
    false,
  )
  old?.end()
  await settle()
  t.ok(ref.tell(() => {}))
  await system.stop()
  t.equal(clock.pending, 0)
})

t.test('the facts of a dead incarnation are not told to the next', async (t) => {
  const { system, clock } = lab()
  const seen: string[] = []
  const ref = system.spawn(
    specOf<null, string, string>('a', {
      init: () => [null, []],
      transition(state, message) {
        if (message === 'bad') throw new Error('bad message')
        return [state, [message]]
      },
      perform(effect, self) {
        seen.push(effect)
        if (effect !== 'first') return
        self.tell('fact')
        self.after(0, 'due')
        clock.advance(0)
      },
    }),
  )
  for (const message of ['first', 'bad', 'last']) ref.tell(message)
  await settle()
  clock.advance(10)
  await settle()
  t.same(seen, ['first', 'last'])
  await system.stop()
})
