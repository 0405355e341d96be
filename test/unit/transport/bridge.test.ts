// The bridge: from a subject through the schema into a mailbox, and the answer back.
import t from 'tap'
import { z } from 'zod'
import type { Ref } from '../../../kernel/actor.ts'
import { type BridgeInfo, bridge } from '../../../transport/bridge.ts'
import type { Outcome } from '../../../transport/contract/envelope.ts'
import { memoryWire } from '../../support/memory-bus.ts'

type Message = { n: number; reply: (outcome: Outcome<{ n: number }>) => void; info: BridgeInfo }
const request = z.strictObject({ n: z.number() })
const answer = z.object({ n: z.number() })
const subject = 'llmgw.v1.svc.members.register.n1'
const within = { withinMs: 1000, trace: 'tp' }

function setUp(take: (message: Message) => boolean) {
  const wire = memoryWire()
  const to: Ref<Message> = { name: 'members', uid: '1', tell: take }
  const make = (it: { n: number }, reply: Message['reply'], info: BridgeInfo): Message => {
    return { ...it, reply, info }
  }
  const stop = bridge({
    bus: wire.join('l1'),
    subject: 'llmgw.v1.svc.members.*.*',
    request,
    to,
    make,
  })
  return { stop, caller: wire.join('n1') }
}

t.test('a message reaches the mailbox with its caller, and its reply the caller', async (t) => {
  const infos: BridgeInfo[] = []
  const { caller } = setUp(({ n, reply, info }) => {
    infos.push(info)
    queueMicrotask(() => {
      reply({ ok: true, value: { n: n + 1 } })
      reply({ ok: true, value: { n: 0 } })
    })
    return true
  })
  t.strictSame(await caller.request(subject, { n: 1 }, answer, within), {
    ok: true,
    value: { n: 2 },
  })
  t.strictSame(infos, [{ subject, caller: 'n1', remainingMs: 1000, trace: 'tp' }])
})

t.test(
  'what has not the schema is refused with the field, and the actor never sees it',
  async (t) => {
    const { caller } = setUp(() => t.fail('told'))
    for (const [body, problem] of [
      [{ n: 'one' }, /^n: /],
      [{ n: 1, m: 2 }, /m/],
      [null, /whole/],
    ] as const) {
      t.match(await caller.request(subject, body, answer, within), {
        ok: false,
        error: { code: 'LLMGW_BAD_MESSAGE', details: { subject, problem } },
      })
    }
  },
)

t.test('a full mailbox is told to the caller', async (t) => {
  const { caller } = setUp(() => false)
  t.match(await caller.request(subject, { n: 1 }, answer, within), {
    ok: false,
    error: { code: 'LLMGW_MAILBOX_FULL', details: { actor: 'members' } },
  })
})

t.test('after its stop nothing arrives', async (t) => {
  const { caller, stop } = setUp(() => t.fail('told'))
  stop.stop()
  t.match(await caller.request(subject, { n: 1 }, answer, within), {
    ok: false,
    error: { code: 'LLMGW_NO_ANSWER' },
  })
})
