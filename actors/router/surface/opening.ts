// The opening of a stream for the client: its first event names the role, as OpenAI's does, whatever the engine does.
import { createParser } from 'eventsource-parser'
import { parseJson } from './answer.ts'

export interface Opening {
  /** What the client gets of the stream so far, or null while the first event is not whole. After an answer it has done its work. */
  push(chunk: Uint8Array): Uint8Array | null
}

/** A first event that is longer than any is passed on as it comes. */
const longestBytes = 64 * 1024

/**
 * llama.cpp leaves out the chunk with the role where the first token is only a part of a character
 * (an emoji, say), and strict clients refuse such a stream; so it is put in where it is missing, for
 * each of the `choices` that were asked for.
 */
export function createOpening(choices: number): Opening {
  const held: Uint8Array[] = []
  const decoder = new TextDecoder()
  let heldBytes = 0
  let first: string | null = null
  const parser = createParser({
    onEvent: ({ data }) => {
      first ??= data
    },
  })
  return {
    push(chunk) {
      held.push(chunk)
      heldBytes += chunk.length
      parser.feed(decoder.decode(chunk, { stream: true }))
      if (first === null && heldBytes < longestBytes) return null
      const role = first === null ? '' : roleFor(parseJson(Buffer.from(first)), choices)
      return role === '' ? join(held) : join([Buffer.from(role), ...held])
    },
  }
}

const join = (parts: readonly Uint8Array[]): Uint8Array =>
  parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts)

/** The event that must come before this one; empty where this one names a role itself, or is no chunk of a chat. */
function roleFor(event: unknown, choices: number): string {
  const { choices: list, usage: _, timings: __, ...same } = Object(event)
  if (!Array.isArray(list) || list.length === 0) return ''
  if (list.some((it) => typeof Object(Object(it).delta).role === 'string')) return ''
  const opened = Array.from({ length: choices }, (___, index) => ({
    index,
    delta: { role: 'assistant', content: '' },
    finish_reason: null,
  }))
  return `data: ${JSON.stringify({ ...same, choices: opened })}\n\n`
}
