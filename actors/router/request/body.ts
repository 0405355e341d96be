// Collects the body of a request within the limits of one body and of all together.
import type { Code } from '../../../kernel/errors.ts'
import type { Buffers } from './buffers.ts'
import type { Exchange } from './ports.ts'

/** `heldBytes` are counted in `buffers`; who takes the body gives them back. */
export type BodyEnd =
  | { ok: true; body: Uint8Array; heldBytes: number }
  | { ok: false; code: Extract<Code, 'LLMGW_BODY_TOO_LARGE' | 'LLMGW_BUFFERS_FULL'> }

export interface Upload {
  /** The client left, or its request was refused: gives back what is held; `onEnd` is not called any more. */
  drop(): void
}

/** Tells the end once; what still comes after a refusal is not kept. */
export function collectBody(
  exchange: Exchange,
  limitBytes: number,
  buffers: Buffers,
  onEnd: (end: BodyEnd) => void,
): Upload {
  const declared = exchange.header('content-length')
  const chunks: Uint8Array[] = []
  let held = 0
  let size = 0
  let over = false

  const drop = (): void => {
    over = true
    buffers.give(held)
    held = 0
    chunks.length = 0
  }
  const refuse = (code: Extract<BodyEnd, { ok: false }>['code']): void => {
    drop()
    onEnd({ ok: false, code })
  }
  /** Grows what is held to `bytes`; false after a refusal. */
  const hold = (bytes: number): boolean => {
    if (bytes > limitBytes) {
      refuse('LLMGW_BODY_TOO_LARGE')
      return false
    }
    if (bytes > held && !buffers.take(bytes - held)) {
      refuse('LLMGW_BUFFERS_FULL')
      return false
    }
    held = Math.max(held, bytes)
    return true
  }

  // the whole of a declared body is held before its first byte, so that no upload is begun in vain
  const whole = declared !== '' && hold(Number(declared)) ? new Uint8Array(held) : null
  exchange.onBody((chunk, last) => {
    if (over) return
    if (whole) whole.set(chunk, size)
    else if (hold(size + chunk.length)) chunks.push(new Uint8Array(chunk))
    else return
    size += chunk.length
    if (!last) return
    over = true
    onEnd({ ok: true, body: whole ?? Buffer.concat(chunks, size), heldBytes: held })
  })
  return { drop }
}
