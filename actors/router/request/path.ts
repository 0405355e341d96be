// Where every request enters: finds what it asks for, checks its key, and answers or starts a chat.
import { failure } from '../../../kernel/errors.ts'
import type { RoutedKey } from '../../../transport/contract/route.ts'
import {
  type Answer,
  errorAnswer,
  modelAnswer,
  modelsAnswer,
  textAnswer,
} from '../surface/answer.ts'
import { aim, type Target } from '../surface/target.ts'
import { ChatRun } from './chat.ts'
import type { Exchange, PathPorts } from './ports.ts'

export interface Path {
  handle(exchange: Exchange): void
  /** To be called about once a second, with the time since the last call. */
  tend(elapsedMs: number): void
  /** Ends the chats that still run, each with an error. */
  breakOff(): void
  /** Chats that run. */
  readonly running: number
}

export function createPath(ports: PathPorts): Path {
  const runs = new Set<ChatRun>()

  const handle = (exchange: Exchange): void => {
    const id = ports.newId()
    const startedAt = ports.now()
    const answer = (it: Answer): void => {
      exchange.send(it.status, [...it.headers, ['x-request-id', id]], it.body, ports.ending)
      ports.meter.ended({ id, status: it.status, model: null, durationMs: ports.now() - startedAt })
    }
    const found = aim(exchange.method, exchange.path)
    if (!found.ok) {
      const refusal = errorAnswer(found.error)
      const allow = found.allow === null ? [] : [['allow', found.allow] as const]
      answer({ ...refusal, headers: [...refusal.headers, ...allow] })
      return
    }
    const { target } = found
    if (target.to === 'health' || target.to === 'ready') {
      answer(probe(target.to))
      return
    }
    if (target.to === 'metrics') {
      void ports.metricsPage().then(({ type, text }) => answer(textAnswer(200, type, text)))
      return
    }
    const key = keyOf(exchange.header('authorization'))
    if (key === undefined) answer(errorAnswer(failure('LLMGW_INVALID_API_KEY')))
    else if (target.to !== 'chat') answer(models(target))
    else {
      const run = new ChatRun(ports, exchange, { id, key, startedAt }, (it) => runs.delete(it))
      runs.add(run)
      run.start()
    }
  }

  const probe = (what: 'health' | 'ready'): Answer => {
    if (what === 'health') return textAnswer(200, 'text/plain', 'ok\n')
    if (ports.ending) return textAnswer(503, 'text/plain', 'ending\n')
    if (!ports.table.current.listed) return textAnswer(503, 'text/plain', 'no table yet\n')
    return textAnswer(200, 'text/plain', 'ok\n')
  }

  /** The same work for every key, known or not. */
  const keyOf = (authorization: string): RoutedKey | undefined => {
    const secret = /^bearer +(\S+) *$/i.exec(authorization)?.[1] ?? ''
    return ports.keys.current.get(ports.digest(secret))
  }

  const models = (target: Extract<Target, { to: 'models' | 'model' }>): Answer => {
    const known = ports.table.current.models
    if (target.to === 'models') return modelsAnswer([...known.values()])
    const model = known.get(target.model)
    if (model) return modelAnswer(model)
    return errorAnswer(failure('LLMGW_MODEL_NOT_FOUND', { model: target.model }))
  }

  return {
    handle,
    tend(elapsedMs) {
      for (const run of runs) run.tend(elapsedMs)
    },
    breakOff() {
      for (const run of [...runs]) run.breakOff()
    },
    get running() {
      return runs.size
    },
  }
}
