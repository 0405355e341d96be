// Reads the body of a chat request: what the gateway must know of it, and nothing more.
import { type Failure, failure } from '../../../kernel/errors.ts'

export type Chat = {
  model: string
  stream: boolean
  /** Whether `stream` or `stream_options` stand at the top level, in whatever form. */
  saysHow: boolean
}

export type ChatRead =
  | { ok: true; chat: Chat }
  | { ok: false; error: Failure; param: string | null }

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Wants a JSON object with the string `model` and the list `messages`; all other fields are the engine's affair. */
export function readChat(body: Uint8Array): ChatRead {
  const fields = readObject(body)
  if (typeof fields === 'string') return refuse(fields, null)
  const { model, messages, stream } = fields
  if (typeof model !== 'string' || model === '') {
    return refuse('"model" must be the name of a model, a string.', 'model')
  }
  if (!Array.isArray(messages)) return refuse('"messages" must be a list of messages.', 'messages')
  if (stream !== undefined && stream !== null && typeof stream !== 'boolean') {
    return refuse('"stream" must be true or false.', 'stream')
  }
  const saysHow = 'stream' in fields || 'stream_options' in fields
  return { ok: true, chat: { model, stream: stream === true, saysHow } }
}

type Fields = { model?: unknown; messages?: unknown; stream?: unknown }

function readObject(body: Uint8Array): Fields | string {
  let value: unknown
  try {
    value = JSON.parse(utf8.decode(body))
  } catch (error) {
    // the text of V8's error quotes the body: not repeated
    return error instanceof SyntaxError
      ? 'The body is not valid JSON.'
      : 'The body is not valid UTF-8.'
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return 'The body must be a JSON object.'
  }
  return value
}

const refuse = (problem: string, param: string | null): ChatRead => ({
  ok: false,
  error: failure('LLMGW_INVALID_REQUEST', { problem }),
  param,
})
