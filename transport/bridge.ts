// From a subject to an actor's mailbox and back: the only way in which actors of different programs talk.
import type { ZodType } from 'zod'
import type { Ref } from '../kernel/actor.ts'
import { failure } from '../kernel/errors.ts'
import type { Bus } from './bus.ts'
import type { Outcome } from './contract/envelope.ts'
import { check } from './wire.ts'

/** What is known of a message besides its body. */
export type BridgeInfo = {
  subject: string
  /** The subject's last token: on `svc` and `hb` subjects the name in the sender's credentials. */
  caller: string
  /** How long the sender still waits, counted from arrival; null where nobody waits. */
  remainingMs: number | null
  trace: string | null
}

export type BridgeOptions<Req, Ans, M> = {
  bus: Bus
  /** May have wildcards. */
  subject: string
  request: ZodType<Req>
  to: Ref<M>
  /** The message for the mailbox; `reply` may be called at any later time, once. */
  make(request: Req, reply: (outcome: Outcome<Ans>) => void, info: BridgeInfo): M
}

/**
 * Takes what arrives on a subject until `stop`. What has not the schema is answered with
 * LLMGW_BAD_MESSAGE, what the mailbox does not take with LLMGW_MAILBOX_FULL.
 */
export const bridge = <Req, Ans, M>(options: BridgeOptions<Req, Ans, M>): { stop(): void } => {
  const { bus, request, to, make } = options
  return bus.subscribe(options.subject, (incoming) => {
    const { subject, remainingMs, trace } = incoming
    const checked = check(incoming.body, subject, request)
    if (!checked.ok) return incoming.reply(checked)
    const caller = subject.slice(subject.lastIndexOf('.') + 1)
    const reply = (outcome: Outcome<Ans>): void => incoming.reply(outcome)
    const message = make(checked.value, reply, { subject, caller, remainingMs, trace })
    if (!to.tell(message)) {
      incoming.reply({ ok: false, error: failure('LLMGW_MAILBOX_FULL', { actor: to.name }) })
    }
  })
}
