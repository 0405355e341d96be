// Reads the body of a chat request: what the gateway must know of it, and nothing more.
import { type Failure, failure } from '../../../kernel/errors.ts'

export type Chat = {
  model: string
  stream: boolean
  /** How many answers are asked for at once (`n`); 1 where that is not said in a way that means anything. */
  choices: number
  /** Whether `stream` or `stream_options` stand at the top level, in whatever form. */
  saysHow: boolean
}

export type ChatRead =
  | { ok: true; chat: Chat }
  | { ok: false; error: Failure; param: string | null }

/** llama.cpp ends with a stack overflow on a schema of 100,000 levels, and with it everybody's requests. */
const deepestLevels = 500

/** OpenAI's own limit of `n`. */
const mostChoices = 128

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Wants a JSON object with the string `model` and the list `messages`; all other fields are the engine's affair. */
export function readChat(body: Uint8Array): ChatRead {
  const fields = readObject(body)
  if (typeof fields === 'string') return refuse(fields, null)
  const { model, messages, stream, n } = fields
  if (typeof model !== 'string' || model === '') {
    return refuse('"model" must be the name of a model, a string.', 'model')
  }
  if (!Array.isArray(messages)) return refuse('"messages" must be a list of messages.', 'messages')
  if (stream !== undefined && stream !== null && typeof stream !== 'boolean') {
    return refuse('"stream" must be true or false.', 'stream')
  }
  const saysHow = 'stream' in fields || 'stream_options' in fields
  const choices = Number.isInteger(n) && Number(n) > 0 ? Math.min(Number(n), mostChoices) : 1
  return { ok: true, chat: { model, stream: stream === true, choices, saysHow } }
}

type Fields = { model?: unknown; messages?: unknown; stream?: unknown; n?: unknown }

function readObject(body: Uint8Array): Fields | string {
  let value: unknown
  let text: string
  try {
    text = utf8.decode(body)
    value = JSON.parse(text)
  } catch (error) {
    // the text of V8's error quotes the body: not repeated
    return error instanceof SyntaxError
      ? 'The body is not valid JSON.'
      : 'The body is not valid UTF-8.'
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return 'The body must be a JSON object.'
  }
  if (isDeeper(text, deepestLevels)) return `The body nests deeper than ${deepestLevels} levels.`
  return value
}

/** Of valid JSON. Strings are leapt over, since what is long in a body is text or an image. */
function isDeeper(text: string, levels: number): boolean {
  let depth = 0
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case 0x22: // "
        at = endOfString(text, at)
        break
      case 0x7b: // {
      case 0x5b: // [
        depth += 1
        if (depth > levels) return true
        break
      case 0x7d: // }
      case 0x5d: // ]
        depth -= 1
    }
  }
  return false
}

/** Where the string that begins at `from` has its closing mark. */
function endOfString(text: string, from: number): number {
  for (let at = text.indexOf('"', from + 1); ; at = text.indexOf('"', at + 1)) {
    let escapes = 0
    while (text[at - 1 - escapes] === '\\') escapes += 1
    if (escapes % 2 === 0) return at
  }
}

const refuse = (problem: string, param: string | null): ChatRead => ({
  ok: false,
  error: failure('LLMGW_INVALID_REQUEST', { problem }),
  param,
})
