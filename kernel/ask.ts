// One question to another actor, which ends exactly once: by reply, deadline, abort, refusal or death.
import type { Answer, Ref } from './actor.ts'
import { cellOf, type Incarnation } from './cell.ts'

export type Question<A> = {
  to: Ref<never>
  make(reply: (answer: A) => void): unknown
  withinMs: number
  signal: AbortSignal | undefined
  deliver(answer: Answer<A>): void
}

/** Asks on behalf of `life`; if that ends first, nothing is delivered. Throws what `make` throws. */
export function ask<A>(life: Incarnation, question: Question<A>): void {
  const { to, signal, deliver } = question
  const target = cellOf(to)
  let open = true
  const close = () => {
    open = false
    cancel()
    target?.watchers.delete(onGone)
    signal?.removeEventListener('abort', onAbort)
    life.ties.delete(close)
  }
  const settle = (answer: Answer<A>) => {
    if (!open) return
    close()
    deliver(answer)
  }
  const onGone = () => settle({ ok: false, why: 'gone' })
  const onAbort = () => settle({ ok: false, why: 'aborted' })
  const onDeadline = () => settle({ ok: false, why: 'deadline' })
  const cancel = life.cell.shared.clock.after(question.withinMs, onDeadline)
  life.ties.add(close)
  if (signal?.aborted) onAbort()
  else if (target?.end) onGone()
  if (!open) return
  signal?.addEventListener('abort', onAbort)
  target?.watchers.add(onGone)
  try {
    const message = question.make((value) => settle({ ok: true, value }))
    if (!(to as Ref<unknown>).tell(message)) settle({ ok: false, why: 'refused' })
  } catch (thrown) {
    close()
    throw thrown
  }
}
