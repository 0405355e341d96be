// Puts the chunks of a streamed chat answer together into the answer that a plain request expects.
import { createParser } from 'eventsource-parser'

export type Joined =
  | { ok: true; body: string }
  /** The engine said in the stream that it failed; `value` is that event. */
  | { ok: false; why: 'error'; value: unknown }
  | { ok: false; why: 'incomplete' | 'unreadable' }

export interface Join {
  feed(chunk: Uint8Array): void
  /** After the last chunk. */
  finish(): Joined
}

type Fields = Readonly<Record<string, unknown>>
type ToolCall = { fields: Fields; name: string; arguments: string }
type Choice = {
  role: string
  /** Fragments of the text fields, by name; a field that no chunk had is absent. */
  texts: Map<string, string>
  toolCalls: Map<number, ToolCall>
  logprobs: Map<string, unknown[]> | null | undefined
  finishReason: string | null
  /** Fields of the delta and of the choice that are not known here; the last one seen counts. */
  message: Fields
  others: Fields
}

/** The fields of a delta that hold fragments; all others stand whole in one delta. */
const textFields = ['content', 'reasoning_content', 'reasoning', 'refusal']

export function createJoin(): Join {
  const decoder = new TextDecoder()
  const choices = new Map<number, Choice>()
  let top: Fields = {}
  let failed: Joined | null = null
  let done = false

  const parser = createParser({
    onEvent({ data }) {
      if (failed || done) return
      if (data.trim() === '[DONE]') {
        done = true
        return
      }
      const chunk = parse(data)
      if (chunk === undefined) failed = { ok: false, why: 'unreadable' }
      else if (isObject(chunk['error'])) failed = { ok: false, why: 'error', value: chunk }
      else top = addChunk(top, choices, chunk)
    },
  })

  return {
    feed: (chunk) => parser.feed(decoder.decode(chunk, { stream: true })),
    finish() {
      parser.feed(`${decoder.decode()}\n\n`) // engines may leave out the last blank line
      if (failed) return failed
      if (!done || choices.size === 0) return { ok: false, why: 'incomplete' }
      return { ok: true, body: JSON.stringify(whole(top, choices)) }
    },
  }
}

function addChunk(top: Fields, choices: Map<number, Choice>, chunk: Fields): Fields {
  const { choices: list, usage, ...fields } = chunk
  if (Array.isArray(list)) {
    for (const part of list) if (isObject(part)) addPart(choices, part)
  }
  // engines send `usage: null` until they know it
  return isObject(usage) ? { ...top, ...fields, usage } : { ...top, ...fields }
}

function addPart(choices: Map<number, Choice>, part: Fields): void {
  const { index, delta, logprobs, finish_reason: reason, ...others } = part
  const choice = choiceAt(choices, typeof index === 'number' ? index : 0)
  choice.others = { ...choice.others, ...others }
  if (typeof reason === 'string' && reason !== '') choice.finishReason = reason
  if (logprobs !== undefined) addLogprobs(choice, logprobs)
  if (isObject(delta)) addDelta(choice, delta)
}

function addDelta(choice: Choice, delta: Fields): void {
  const { role, tool_calls: calls, ...fields } = delta
  if (typeof role === 'string' && role !== '') choice.role = role
  if (Array.isArray(calls)) {
    for (const call of calls) if (isObject(call)) addToolCall(choice.toolCalls, call)
  }
  for (const name of textFields) {
    const text = fields[name]
    if (typeof text === 'string') choice.texts.set(name, (choice.texts.get(name) ?? '') + text)
  }
  choice.message = { ...choice.message, ...without(fields, textFields) }
}

/** Fragments of a call belong together by `index`; one without an index continues the last call, unless it has an id. */
function addToolCall(calls: Map<number, ToolCall>, part: Fields): void {
  const { index, function: called, ...fields } = part
  const isNew = typeof fields['id'] === 'string' && fields['id'] !== ''
  const at = typeof index === 'number' ? index : Math.max(0, isNew ? calls.size : calls.size - 1)
  const call = calls.get(at) ?? { fields: {}, name: '', arguments: '' }
  calls.set(at, call)
  // later fragments repeat id and type as null or "" in some engines
  const said = Object.entries(fields).filter(([, value]) => value !== null && value !== '')
  call.fields = { ...call.fields, ...Object.fromEntries(said) }
  if (!isObject(called)) return
  if (typeof called['name'] === 'string' && call.name === '') call.name = called['name']
  if (typeof called['arguments'] === 'string') call.arguments += called['arguments']
}

function addLogprobs(choice: Choice, part: unknown): void {
  choice.logprobs ??= isObject(part) ? new Map() : null
  if (!isObject(part)) return
  for (const [name, list] of Object.entries(part)) {
    if (!Array.isArray(list)) continue
    const known = choice.logprobs?.get(name)
    if (known) known.push(...list)
    else choice.logprobs?.set(name, [...list])
  }
}

function choiceAt(choices: Map<number, Choice>, index: number): Choice {
  const known = choices.get(index)
  if (known) return known
  const made: Choice = {
    role: 'assistant',
    texts: new Map(),
    toolCalls: new Map(),
    logprobs: undefined,
    finishReason: null,
    message: {},
    others: {},
  }
  choices.set(index, made)
  return made
}

function whole(top: Fields, choices: Map<number, Choice>): Fields {
  const { id, created, model, ...others } = top
  return {
    id,
    object: 'chat.completion',
    created,
    model,
    choices: byIndex(choices).map(([index, choice]) => wholeChoice(index, choice)),
    ...without(others, ['object']),
  }
}

function wholeChoice(index: number, choice: Choice): Fields {
  const { role, texts, toolCalls, logprobs, finishReason, message, others } = choice
  const calls = byIndex(toolCalls).map(([, call]) => ({
    ...call.fields,
    function: { name: call.name, arguments: call.arguments },
  }))
  return {
    index,
    message: {
      role,
      content: null,
      ...Object.fromEntries(texts),
      ...(calls.length > 0 ? { tool_calls: calls } : {}),
      ...message,
    },
    ...(logprobs === undefined ? {} : { logprobs: logprobs && Object.fromEntries(logprobs) }),
    finish_reason: finishReason,
    ...others,
  }
}

function parse(data: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(data)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

const byIndex = <T>(parts: Map<number, T>): [number, T][] =>
  [...parts].sort(([one], [other]) => one - other)

const without = (fields: Fields, names: readonly string[]): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([key]) => !names.includes(key)))

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
