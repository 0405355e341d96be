// The endpoint's own answers in OpenAI's shape: errors, the list of models, and what becomes of an engine's error.
import { catalogue, type Failure } from '../../../kernel/errors.ts'

export type Headers = readonly (readonly [name: string, value: string])[]
export type Answer = { status: number; headers: Headers; body: string | Uint8Array }

/** Seconds after which a refusal that passes may be tried again. */
const retryAfterS = '1'

/** `param` names the request's field that is wrong. */
export function errorAnswer(error: Failure, param: string | null = null): Answer {
  const { status, type, openai, retry } = catalogue[error.code]
  return {
    status,
    headers: [json, ...(retry === 'after' ? [['retry-after', retryAfterS] as const] : [])],
    body: JSON.stringify({ error: { message: error.message, type, param, code: openai } }),
  }
}

/** What a stream that has begun ends with instead of `[DONE]`; an event that broke off is ended before it. */
export const errorFrame = ({ body }: Answer, atLineStart: boolean): string =>
  `${atLineStart ? '\n' : '\n\n'}data: ${body}\n\n`

export type ListedModel = { model: string; created: number }

export const modelsAnswer = (models: readonly ListedModel[]): Answer =>
  ok({ object: 'list', data: models.map(modelObject) })

export const modelAnswer = (model: ListedModel): Answer => ok(modelObject(model))

export const textAnswer = (status: number, type: string, body: string): Answer => ({
  status,
  headers: [['content-type', type]],
  body,
})

/**
 * An engine's refusal with its status: message, type and further fields are its own, put into OpenAI's shape where
 * they are not. `body` is what `parseJson` made of it.
 */
export function engineErrorAnswer(
  status: number,
  body: unknown,
  retryAfter: string | null,
): Answer {
  const { message, type, param, code, ...others } = readError(body)
  const kind =
    typeof type === 'string' ? type : status < 500 ? 'invalid_request_error' : 'server_error'
  const error = {
    message: typeof message === 'string' ? message : `The engine refused with status ${status}.`,
    type: kind,
    param: typeof param === 'string' ? param : null,
    // llama.cpp repeats the status as a number there, and has a name of its own for the best-known code
    code:
      typeof code === 'string'
        ? code
        : kind === 'exceed_context_size_error'
          ? 'context_length_exceeded'
          : null,
    ...others,
  }
  const passed = /^\d{1,6}$/.test(retryAfter ?? '') ? retryAfter : null
  const wait = passed ?? (status === 429 || status === 503 ? retryAfterS : null)
  return {
    status,
    headers: [json, ...(wait === null ? [] : [['retry-after', wait] as const])],
    body: JSON.stringify({ error }),
  }
}

/** Undefined where the bytes are no JSON; such text is never repeated to a client, since it may tell of the inside. */
export function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    return undefined
  }
}

const json = ['content-type', 'application/json'] as const

const ok = (value: unknown): Answer => ({
  status: 200,
  headers: [json],
  body: JSON.stringify(value),
})

const modelObject = ({ model, created }: ListedModel) => ({
  id: model,
  object: 'model',
  created,
  owned_by: 'llmgw',
})

type EngineError = { message?: unknown; type?: unknown; param?: unknown; code?: unknown }

/** The error in OpenAI's `{error: {...}}`, in `{error: "text"}`, or in the older engines' bare `{message}` and `{detail}`. */
function readError(value: unknown): EngineError {
  if (!isObject(value)) return {}
  if (isObject(value['error'])) return value['error']
  return { message: value['error'] ?? value['message'] ?? value['detail'] }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
