// Asks the endpoint a question, as any client would, and measures the answer.

import { setTimeout as sleep } from 'node:timers/promises'
import { EventSourceParserStream } from 'eventsource-parser/stream'
import { z } from 'zod'
import { LlmgwError, messageOf } from '../../../kernel/errors.ts'

/** A short answer on a slow and busy machine. */
const answerWithinMs = 120_000

const chunkSchema = z.object({
  choices: z
    .array(z.object({ delta: z.object({ content: z.string().nullish() }).optional() }))
    .default([]),
  usage: z.object({ completion_tokens: z.number() }).nullish(),
  error: z.object({ message: z.string() }).optional(),
})

export type Said = { text: string; tokens: number; tokensPerSecond: number }

/** A router learns of a new key, model and replica within a second or two; until then it refuses. */
const routedWithinMs = 20_000
/** Between two tries while the routers do not know the model yet. */
const retryMs = 150

/** The whole answer to one question; throws LLMGW_NOT_SERVED where none comes. */
export async function ask(
  endpoint: string,
  wanted: { key: string; model: string; question: string; signal: AbortSignal },
): Promise<Said> {
  const until = performance.now() + routedWithinMs
  for (;;) {
    const response = await post(endpoint, wanted).catch((error: unknown) => {
      if (wanted.signal.aborted || performance.now() > until)
        throw notServed(wanted.model, messageOf(error))
      return null
    })
    if (response?.ok === true && response.body !== null) return read(response.body, wanted.model)
    const text = await response?.text()
    if (response !== null && performance.now() > until) {
      throw notServed(
        wanted.model,
        `the endpoint answered ${response.status}: ${text?.slice(0, 500)}`,
      )
    }
    await sleep(retryMs, undefined, { signal: wanted.signal })
  }
}

const notServed = (model: string, problem: string): LlmgwError =>
  new LlmgwError('LLMGW_NOT_SERVED', { model, problem })

const post = (
  endpoint: string,
  {
    key,
    model,
    question,
    signal,
  }: { key: string; model: string; question: string; signal: AbortSignal },
): Promise<Response> =>
  fetch(`${endpoint}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model,
      messages: [{ role: 'user', content: question }],
      max_tokens: 60,
      temperature: 0,
      stream: true,
      stream_options: { include_usage: true },
    }),
    signal: AbortSignal.any([signal, AbortSignal.timeout(answerWithinMs)]),
  })

async function read(body: ReadableStream<Uint8Array>, model: string): Promise<Said> {
  const events = body
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream())
  let text = ''
  let tokens = 0
  let first: number | null = null
  for await (const event of events) {
    if (event.data === '[DONE]') break
    const chunk = chunkSchema.parse(JSON.parse(event.data))
    if (chunk.error !== undefined) throw notServed(model, chunk.error.message)
    const content = chunk.choices[0]?.delta?.content ?? ''
    if (content !== '') first ??= performance.now()
    text += content
    tokens = chunk.usage?.completion_tokens ?? tokens
  }
  const seconds = (performance.now() - (first ?? performance.now())) / 1000
  // the clock starts with the first token
  const tokensPerSecond = seconds > 0 ? Math.max(0, tokens - 1) / seconds : 0
  return { text: text.trim(), tokens, tokensPerSecond }
}
