// Supervision: OTP's table, strategies, escalation, and stops that always come to an end.
import fc from 'fast-check'
import t from 'tap'
import type { Behaviour, ChildSpec, End, Ref } from '../../../kernel/actor.ts'
import type { RestartType } from '../../../kernel/restart.ts'
import { type Act, doer, type Lab, lab, settle, specOf } from '../../support/actors.ts'

const boom: Act = () => {
  throw new Error('boom')
}
const end: Act = (self) => self.end()

/** Lets everything happen that is due within 100 ms. */
async function pass(clock: Lab['clock'], times = 1): Promise<void> {
  for (let time = 0; time < times; time += 1) {
    await settle()
    clock.advance(100)
    await settle()
  }
}

/** Lets everything happen until no timer is left. */
async function quiet(clock: Lab['clock']): Promise<void> {
  do await pass(clock)
  while (clock.pending > 0)
}

/** An actor that writes `+name` at its start and `-name` at its end. */
function traced(trace: string[], name: string, rest: Partial<ChildSpec<null, Act, Act>> = {}) {
  const behaviour: Behaviour<null, Act, Act> = {
    ...doer(() => void trace.push(`+${name}`)),
    stopped: async () => void trace.push(`-${name}`),
  }
  return specOf(name, behaviour, rest)
}

/** The same, but its `stopped` takes this long. */
function slow(spec: ChildSpec<null, Act, Act>, clock: Lab['clock'], endMs: number) {
  if (endMs === 0) return spec
  const stopped = async () => {
    await new Promise<void>((resolve) => clock.after(endMs, resolve))
    await spec.behaviour.stopped?.(null)
  }
  return { ...spec, behaviour: { ...spec.behaviour, stopped } }
}

type Strategy = 'one-for-one' | 'rest-for-one'

/** A parent with these children; `endMs` is how long each one's `stopped` takes. */
function family(
  strategy: Strategy,
  restarts: Record<string, RestartType>,
  { intensity = 3, endMs = [] as number[] } = {},
) {
  const it = lab()
  const trace: string[] = []
  const refs = new Map<string, Ref<Act>>()
  const children = Object.entries(restarts).map(([name, restart], index) => {
    const at = it.system.address<Act>(name)
    refs.set(name, at)
    const child = traced(trace, name, { restart, at, intensity })
    return slow(child, it.clock, endMs[index] ?? 0)
  })
  const parent = it.system.spawn(traced(trace, 'parent', { children, strategy, intensity }))
  const tell = (name: string, act: Act) => refs.get(name)?.tell(act)
  /** What happened since it was last asked for. */
  const since = () => trace.splice(0).join(' ')
  return { ...it, parent, refs, tell, since }
}

const table: [RestartType, 'ended' | 'crashed' | 'stopped', boolean, End['reason']][] = [
  ['permanent', 'ended', true, 'stopped'],
  ['permanent', 'crashed', true, 'stopped'],
  ['permanent', 'stopped', false, 'stopped'],
  ['transient', 'ended', false, 'stopped'],
  ['transient', 'crashed', true, 'stopped'],
  ['transient', 'stopped', false, 'stopped'],
  ['temporary', 'ended', false, 'stopped'],
  ['temporary', 'crashed', false, 'failed'],
  ['temporary', 'stopped', false, 'stopped'],
]

for (const [restart, reason, again, last] of table) {
  const follows = again ? 'is started again' : 'stays ended'
  t.test(`a ${restart} child that has ${reason} ${follows}`, async (t) => {
    const { system, clock } = lab()
    let starts = 0
    const ends: End[] = []
    const spec = specOf(
      'child',
      doer(() => {
        starts += 1
      }),
      { restart },
    )
    const parent = system.spawn(specOf('parent', doer()))
    let child: Ref<Act> | undefined
    parent.tell((self) => {
      child = self.spawn(spec)
      self.watch(child as Ref<never>, (it) => () => void ends.push(it))
    })
    await settle()
    if (reason === 'ended') child?.tell(end)
    if (reason === 'crashed') child?.tell(boom)
    if (reason === 'stopped') parent.tell((self) => void self.stop(child as Ref<never>))
    await pass(clock)
    t.equal(starts, again ? 2 : 1)
    t.equal(
      child?.tell(() => {}),
      again,
    )
    t.match(ends, again ? [] : [{ reason: last, uid: child?.uid }])
    t.equal(ends.length, again ? 0 : 1)
    await system.stop()
  })
}

t.test('one-for-one: only the one that crashed is started again', async (t) => {
  const { system, clock, tell, since } = family('one-for-one', { a: 'permanent', b: 'permanent' })
  since()
  tell('a', boom)
  await pass(clock)
  t.equal(since(), '-a +a')
  await system.stop()
})

t.test('rest-for-one: those after it stop in reverse and start again in order', async (t) => {
  const { system, clock, tell, refs, since } = family('rest-for-one', {
    a: 'permanent',
    b: 'permanent',
    c: 'transient',
    d: 'permanent',
  })
  t.equal(since(), '+a +b +c +d +parent')
  const uids = () => [...refs.values()].map(({ uid }) => uid)
  const [a, b, c, d] = uids()
  tell('b', boom)
  await settle()
  t.equal(since(), '-b -d -c', 'down while b waits')
  t.ok(
    tell('d', () => {}),
    'its address takes messages meanwhile',
  )
  await pass(clock)
  t.equal(since(), '+b +c +d')
  const [a2, b2, c2, d2] = uids()
  t.equal(a2, a)
  for (const [now, then] of [
    [b2, b],
    [c2, c],
    [d2, d],
  ])
    t.not(now, then)
  await system.stop()
  t.equal(since(), '-d -c -b -a -parent')
})

t.test(
  'rest-for-one: temporary ones end with it, transient ones that had ended come back',
  async (t) => {
    const { system, clock, tell, since } = family('rest-for-one', {
      a: 'permanent',
      b: 'temporary',
      c: 'transient',
    })
    tell('c', end)
    await settle()
    since()
    tell('a', boom)
    await pass(clock)
    t.equal(since(), '-a -b +a +c')
    await system.stop()
  },
)

t.test('rest-for-one: what comes after one that cannot start waits for it', async (t) => {
  const { system, clock } = lab()
  const trace: string[] = []
  let faults = 2
  const weak = specOf('weak', {
    ...doer(() => void trace.push('+weak')),
    init() {
      if (faults > 0) throw new Error(`fault ${faults--}`)
      return [null, [() => void trace.push('+weak')]]
    },
  })
  const after = traced(trace, 'after', { restart: 'temporary' })
  const lost = specOf('lost', doer(boom), { restart: 'temporary' })
  const parent = traced(trace, 'parent', {
    children: [lost, weak, after],
    strategy: 'rest-for-one',
  })
  system.spawn(parent)
  await settle()
  t.same(trace, ['+parent'])
  await pass(clock, 2)
  t.same(trace, ['+parent', '+weak', '+after'])
  await system.stop()
})

t.test('rest-for-one: one stopped while it waits lets those after it go on', async (t) => {
  const { system, clock, parent, tell, refs, since } = family('rest-for-one', {
    a: 'permanent',
    b: 'permanent',
  })
  tell('a', boom)
  await settle()
  since()
  parent.tell((self) => void self.stop(refs.get('a') as Ref<never>))
  await pass(clock)
  t.equal(since(), '+b')
  await system.stop()
})

t.test('a crash of an elder while a younger one waits restarts both once', async (t) => {
  const { system, clock, tell, since } = family('rest-for-one', { a: 'permanent', b: 'permanent' })
  since()
  tell('b', boom)
  await settle()
  tell('a', boom)
  await pass(clock)
  t.equal(since(), '-b -a +a +b')
  await system.stop()
})

t.test(
  'a parent’s restart stops its children first, and starts the static ones anew',
  async (t) => {
    const { system, clock, parent, tell, since } = family('one-for-one', {
      a: 'permanent',
      b: 'temporary',
    })
    tell('b', end)
    parent.tell((self) => void self.spawn(specOf('dynamic', doer())))
    await settle()
    since()
    parent.tell(boom)
    await pass(clock)
    t.equal(since(), '-a -parent +a +b +parent')
    let dynamic: Ref<Act> | undefined
    parent.tell((self) => {
      dynamic = self.spawn(specOf('dynamic', doer()))
    })
    await settle()
    t.ok(
      dynamic?.tell(() => {}),
      'its name is free again',
    )
    await system.stop()
  },
)

t.test(
  'past its budget the child’s end is told and its parent crashes with the cause',
  async (t) => {
    const { system, clock, crashes } = lab()
    const ends: End[] = []
    const child = specOf('child', doer(boom), { intensity: 2 })
    const at = system.address<Act>('child')
    const parent = specOf('parent', doer(), { children: [{ ...child, at }] })
    system.spawn(
      specOf(
        'watcher',
        doer((self) => self.watch(at as Ref<never>, (it) => () => void ends.push(it))),
      ),
    )
    system.spawn(parent)
    await pass(clock, 3)
    t.match(crashes.slice(0, 4), [
      { path: '/parent/child', next: { restartInMs: 10 } },
      { path: '/parent/child', next: { restartInMs: 20 } },
      { path: '/parent/child', next: 'fails-parent' },
      { path: '/parent', during: 'child', next: { restartInMs: 10 } },
    ])
    t.match(crashes[3]?.error, {
      cause: { message: 'boom' },
      message: /more than 2 times within 1000 ms: boom/,
    })
    t.match(ends, [{ reason: 'failed', error: { message: 'boom' } }])
    await system.stop()
  },
)

t.test('a permanent child that keeps ending fails its parent too', async (t) => {
  const { system, clock, crashes } = lab()
  system.spawn(specOf('root', doer(end), { intensity: 0 }))
  t.match((await system.failed).message, /^\/root failed more than 0 times.*permanent/)
  t.match(crashes, [{ during: 'end', next: 'fails-parent' }])
  await pass(clock)
  await system.stop()
})

t.test('a stop is idempotent and waits for `stopped`, at most stopMs', async (t) => {
  const { system, clock, crashes } = lab()
  const never = { ...doer(), stopped: () => new Promise<void>(() => {}) }
  system.spawn(specOf('hangs', never, { stopMs: 50 }))
  let stops = 0
  for (const stop of [system.stop(), system.stop()]) void stop.then(() => (stops += 1))
  await settle()
  clock.advance(49)
  await settle()
  t.equal(stops, 0)
  clock.advance(1)
  await settle()
  t.equal(stops, 2)
  t.match(crashes, [
    { during: 'stopped', next: 'none', error: { message: /not through after 50 ms/ } },
  ])
  t.equal(clock.pending, 0)
})

t.test('a child stopped by its parent is through when the promise says so', async (t) => {
  const { system } = lab()
  const trace: string[] = []
  const grandchild = traced(trace, 'grandchild')
  const stopped = async () => {
    await settle(3)
    trace.push('-child')
  }
  const child = specOf('child', { ...doer(), stopped }, { children: [grandchild] })
  const parent = system.spawn(specOf('parent', doer()))
  parent.tell((self) => {
    const ref = self.spawn(child) as Ref<never>
    void self.stop(ref)
    void self.stop(ref).then(() => trace.push('through'))
  })
  await settle(40)
  t.same(trace, ['+grandchild', '-grandchild', '-child', 'through'])
  await system.stop()
})

t.test('only a child can be stopped; a stranger is the caller’s crash', async (t) => {
  const { system, clock, crashes } = lab()
  const other = system.spawn(specOf('other', doer()))
  const parent = system.spawn(specOf('parent', doer()))
  parent.tell((self) => void self.stop(other as Ref<never>))
  await pass(clock)
  t.match(crashes, [{ path: '/parent', error: { message: 'other is no child of /parent' } }])
  t.ok(other.tell(() => {}))
  await system.stop()
})

t.test(
  'what waits for a restart can be stopped, and what is left in its mailbox is told',
  async (t) => {
    const { system, clock, deadLetters } = lab()
    const ref = system.spawn(specOf('a', doer()))
    ref.tell(boom)
    await settle()
    ref.tell(() => t.fail('worked'))
    await system.stop()
    t.match(deadLetters, [{ path: '/a', why: 'gone' }])
    t.equal(clock.pending, 0)
  },
)

/** What may happen to a family: to whom, what, how many turns and how much time before the next. */
const happenings = fc.array(
  fc.record({
    who: fc.constantFrom('a', 'b', 'c', 'parent'),
    what: fc.constantFrom('crash', 'crash', 'end', 'stop'),
    turns: fc.nat(5),
    passMs: fc.nat(30),
  }),
  { maxLength: 15 },
)
type Story = typeof happenings extends fc.Arbitrary<infer T> ? T : never

/** What is wrong with a family at the end of a story; undefined if nothing is. Ends take 0 to 20 ms. */
async function faultOf(restarts: RestartType[], strategy: Strategy, story: Story) {
  const [a, b, c] = restarts
  if (!a || !b || !c) throw new Error('a family of three')
  const it = family(strategy, { a, b, c }, { intensity: 20, endMs: [0, 10, 20] })
  for (const { who, what, turns, passMs } of story) {
    const child = it.refs.get(who)
    const act = what === 'crash' ? boom : end
    if (!child) it.parent.tell(act)
    else if (what !== 'stop') child.tell(act)
    else it.parent.tell((self) => void self.stop(child as Ref<never>))
    await settle(turns)
    it.clock.advance(passMs)
  }
  await quiet(it.clock)
  for (const [name, ref] of it.refs) {
    const worked = new Promise((resolve) => ref.tell(() => resolve(true)))
    const taken = ref.tell(() => {})
    if (taken && !(await Promise.race([worked, settle()]))) return `${name} takes but does not work`
  }
  const stopped = it.system.stop()
  await quiet(it.clock)
  await stopped
  const alive = new Set<string>()
  for (const step of it.since().split(' ')) {
    const name = step.slice(1)
    if (step.startsWith('+') === alive.has(name)) return `${name} lives twice or ends twice`
    if (step.startsWith('+')) alive.add(name)
    else alive.delete(name)
  }
  return alive.size > 0 ? `${[...alive]} not ended` : undefined
}

t.test(
  'whatever happens, nobody lives twice at once, and all is over after the stop',
  async (t) => {
    const types = fc.constantFrom<RestartType>('permanent', 'transient', 'temporary')
    const restarts = fc.array(types, { minLength: 3, maxLength: 3 })
    const strategies = fc.constantFrom<Strategy>('one-for-one', 'rest-for-one')
    const faults = fc.asyncProperty(restarts, strategies, happenings, async (...story) => {
      const fault = await faultOf(...story)
      if (fault) throw new Error(fault)
    })
    const details = await fc.check(faults, { numRuns: 100 })
    t.equal(await fc.asyncDefaultReportMessage(details), undefined)
  },
)
