// Why an engine ended, from its exit, its last log lines and its port, and whether another try can help.
import type { Engine } from '../../engines/engine.ts'
import { failure } from '../../kernel/errors.ts'
import type { Exit } from '../process/protocol.ts'

/** How the process was lost; `exit` is null where the shard ended it, `text` then says why. */
export type Loss = {
  exit: Exit | null
  text: string
  /** It had not been ready yet. */
  loading: boolean
  /** Somebody else answered on its port. */
  stranger: boolean
}

export type Diagnosis =
  /** Nothing is wrong with the engine: another port is taken at once. */
  | { verdict: 'port-taken' }
  | { verdict: 'wrong-cpu'; reason: string }
  | { verdict: 'permanent' | 'crash'; reason: string }

const illegalInstruction = 128 + 4
const shownLines = 20
const maxReasonLength = 8192

/** `lines` are the last of the log, without secrets. */
export function diagnose(
  engine: Engine,
  loss: Loss,
  seen: { lines: readonly string[]; portTaken: boolean; version: string },
): Diagnosis {
  if (loss.loading && (loss.stranger || seen.portTaken)) return { verdict: 'port-taken' }
  if (loss.loading && loss.exit?.code === illegalInstruction) {
    const details = { engine: `${engine.name} ${seen.version}` }
    return { verdict: 'wrong-cpu', reason: failure('LLMGW_ENGINE_WRONG_CPU', details).message }
  }
  const text = seen.lines.join('\n')
  const mark = engine.logMarks.find((it) => it.mark.test(text))
  const verdict = mark?.permanent ? 'permanent' : 'crash'
  const cause = mark === undefined ? loss.text : `${mark.reason} (${loss.text})`
  return {
    verdict,
    reason: [cause, ...seen.lines.slice(-shownLines)].join('\n').slice(0, maxReasonLength),
  }
}
