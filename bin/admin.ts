// Asking the acting leader, with the administrator's credentials of an instance.
import { existsSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ZodType } from 'zod'
import { LlmgwError } from '../kernel/errors.ts'
import { connectBus } from '../transport/bus.ts'
import {
  type AdminAnswer,
  type AdminRequest,
  type AdminVerb,
  adminVerbs,
} from '../transport/contract/admin.ts'
import { subjects } from '../transport/contract/subjects.ts'
import { layout, readMemory } from './instance.ts'

/** The leader answers from memory, but for logs, which it asks a node for. */
const answerWithinMs = 5_000
/** A server that runs is there at once; one that starts takes up to a second. */
const connectWithinMs = 3_000
/** How long a request is repeated while no leader answers: one takes over within 20 s. */
export const leaderWithinMs = 25_000
/** Between two requests while no leader answers. */
const retryMs = 250

export interface Admin {
  /** Throws the leader's refusal, or LLMGW_NO_LEADER after `leaderWithinMs`. */
  ask<V extends AdminVerb>(
    verb: V,
    request: AdminRequest<V>,
    patienceMs?: number,
  ): Promise<AdminAnswer<V>>
  close(): Promise<void>
}

/** Connects to the instance in `dir`. Throws LLMGW_NOT_RUNNING where there is none or nobody listens; the signal's reason once it aborts, whatever is asked. */
export async function connectAdmin(
  dir: string,
  withinMs = connectWithinMs,
  signal?: AbortSignal,
): Promise<Admin> {
  const paths = layout(dir)
  const memory = readMemory(paths)
  const file = paths.credentialsOf('admin')
  if (memory === null || !existsSync(file)) {
    throw new LlmgwError('LLMGW_NOT_RUNNING', { dir: paths.dir })
  }
  const bus = await connectBus({
    url: `nats://127.0.0.1:${memory.natsPort}`,
    credentials: readFileSync(file, 'utf8'),
    name: 'admin',
    withinMs,
    ...(signal && { signal }),
  }).catch((cause: unknown) => {
    signal?.throwIfAborted()
    throw new LlmgwError('LLMGW_NOT_RUNNING', { dir: paths.dir }, { cause })
  })
  return {
    async ask(verb, request, patienceMs = leaderWithinMs) {
      const until = performance.now() + patienceMs
      // The schema of a verb that is only known as a type parameter: its answer's type is the verb's by `adminVerbs`.
      const answer = adminVerbs[verb].answer as unknown as ZodType<AdminAnswer<typeof verb>>
      for (;;) {
        signal?.throwIfAborted()
        const it = await bus.request(subjects.adm(verb), request, answer, {
          withinMs: answerWithinMs,
        })
        if (it.ok) return it.value
        if (it.error.code !== 'LLMGW_NO_LEADER' || performance.now() > until) {
          throw new LlmgwError(it.error.code, it.error.details)
        }
        await sleep(retryMs)
      }
    },
    close: () => bus.close(),
  }
}

/** Runs `use` with a connection that is closed whatever happens. */
export async function withAdmin<T>(dir: string, use: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = await connectAdmin(dir)
  try {
    return await use(admin)
  } finally {
    await admin.close()
  }
}
