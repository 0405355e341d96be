// Waits until a model answers for its name, with one line for each change on the way there.
import { setTimeout as sleep } from 'node:timers/promises'
import { LlmgwError } from '../../../kernel/errors.ts'
import type { Admin } from '../../admin.ts'
import { tail } from '../../output.ts'
import type { Say } from './prepare.ts'

/** Between two looks; a person sees each step. */
const pollMs = 200
/** A refusal must stand this long: placement decides anew each second, and the first look may come before the first report. */
const refusedForMs = 6_000

/** "loading on vm"; what is done says the state itself where it begins with it: "fetching uv on vm". */
const sentence = (state: string, node: string, what: string | undefined): string =>
  what?.startsWith(`${state} `)
    ? `${what} on ${node}`
    : `${state} on ${node}${what ? `: ${what}` : ''}`

/** Resolves when a replica of `model` is ready; throws LLMGW_NOT_SERVED with the reason when it cannot be. */
export async function untilReady(
  admin: Admin,
  model: string,
  say: Say,
  signal: AbortSignal,
): Promise<void> {
  let refusedSince: number | null = null
  for (;;) {
    signal.throwIfAborted()
    const { model: view, replicas } = await admin.ask('models-show', { model })
    if (view.ready > 0) return say(model, 'ready')
    const { nodes } = await admin.ask('nodes-list', {})
    for (const it of replicas) {
      const what = it.reason ?? it.progress?.what
      say(model, sentence(it.state, it.node, what), tail(it.progress))
    }
    if (replicas.length === 0) say(model, view.reason ?? 'waiting for a place')
    const failed = replicas.find((it) => it.state === 'failed')
    const refused =
      failed?.reason ?? (replicas.length === 0 && nodes.length > 0 ? view.reason : null)
    refusedSince = refused === null ? null : (refusedSince ?? performance.now())
    const final = refused !== null && !/reading the model's header/.test(refused)
    if (final && performance.now() - (refusedSince ?? 0) > refusedForMs) {
      throw new LlmgwError('LLMGW_NOT_SERVED', { model, problem: refused })
    }
    await sleep(pollMs, undefined, { signal })
  }
}
