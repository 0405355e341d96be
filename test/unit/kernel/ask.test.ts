// An ask ends exactly once: by reply, deadline, abort, refusal or death.
import t from 'tap'
import type { Answer, Ref } from '../../../kernel/actor.ts'
import { type Act, doer, lab, settle, specOf } from '../../support/actors.ts'

type Reply = (answer: string) => void

/** An asker, one who is asked (`reply` is what it was handed), and the answers that came. */
function start(capacity = 10) {
  const it = lab()
  const answers: Answer<string>[] = []
  let reply: Reply = () => {}
  const asked = it.system.spawn(specOf('asked', doer(), { capacity, restart: 'temporary' }))
  const asker = it.system.spawn(specOf('asker', doer()))
  const make =
    (handed: Reply): Act =>
    () => {
      reply = handed
    }
  const ask = (to: Ref<Act> = asked, signal?: AbortSignal) =>
    asker.tell((self) =>
      self.ask<string>(to, make, 100, (answer) => () => void answers.push(answer), signal),
    )
  return { ...it, asked, asker, answers, ask, reply: (text: string) => reply(text) }
}

t.test('by reply; what comes later counts no more', async (t) => {
  const { system, clock, asked, answers, ask, reply } = start()
  ask()
  await settle()
  reply('yes')
  reply('again')
  clock.advance(100)
  asked.tell((self) => self.end())
  await settle()
  t.same(answers, [{ ok: true, value: 'yes' }])
  t.equal(clock.pending, 0)
  await system.stop()
})

t.test('by deadline', async (t) => {
  const { system, clock, answers, ask, reply } = start()
  ask()
  await settle()
  clock.advance(99)
  await settle()
  t.same(answers, [])
  clock.advance(1)
  reply('late')
  await settle()
  t.same(answers, [{ ok: false, why: 'deadline' }])
  await system.stop()
})

t.test('by abort, also one that was before', async (t) => {
  const { system, answers, ask } = start()
  const controller = new AbortController()
  ask(undefined, controller.signal)
  await settle()
  controller.abort()
  await settle()
  ask(undefined, controller.signal)
  await settle()
  t.same(answers, Array(2).fill({ ok: false, why: 'aborted' }))
  await system.stop()
})

t.test('by refusal of a full mailbox', async (t) => {
  const { system, asked, asker, answers } = start(1)
  // in one message: between two the one who is asked may have made room
  asker.tell((self) => {
    while (asked.tell(() => {})) t.pass('room for one')
    const make = (): Act => () => {}
    self.ask<string>(asked, make, 100, (answer) => () => void answers.push(answer))
  })
  await settle()
  t.same(answers, [{ ok: false, why: 'refused' }])
  await system.stop()
})

t.test('by death, before and after it was asked; the timer goes with it', async (t) => {
  const { system, clock, asked, answers, ask } = start()
  ask()
  await settle()
  asked.tell((self) => self.end())
  await settle()
  ask()
  await settle()
  t.same(answers, Array(2).fill({ ok: false, why: 'gone' }))
  t.equal(clock.pending, 0)
  await system.stop()
})

t.test('an address that is not the kernel’s answers or refuses as well', async (t) => {
  const { system, answers, ask } = start()
  ask({ name: 'far', uid: 'far#1', tell: () => false })
  await settle()
  t.same(answers, [{ ok: false, why: 'refused' }])
  await system.stop()
})

t.test(
  'it ends with the incarnation that asked, and a throw in it is that one’s crash',
  async (t) => {
    const { system, clock, crashes, asked, asker, answers, ask, reply } = start()
    ask()
    await settle()
    asker.tell(() => {
      throw new Error('boom')
    })
    await settle()
    clock.advance(10)
    reply('too late')
    await settle()
    t.same(answers, [])
    const bad = () => {
      throw new Error('cannot make it')
    }
    asker.tell((self) => self.ask(asked, bad, 100, () => () => {}))
    await settle()
    clock.advance(20)
    asker.tell((self) => self.ask(asked, (again: Reply) => () => again('x'), 100, bad))
    await settle()
    t.match(crashes, [
      { error: { message: 'boom' } },
      { during: 'perform', error: { message: 'cannot make it' } },
      { during: 'message', error: { message: 'cannot make it' } },
    ])
    await system.stop()
  },
)
