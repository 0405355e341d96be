// The stock client of npm against the whole system: real engine, real model.
import OpenAI from 'openai'
import t from 'tap'
import { startInstance, until } from '../support/instance.ts'

t.test('the stock openai client works unchanged (RT1)', async (t) => {
  const instance = await startInstance(t)
  const { endpoint, key, model } = instance
  const client = new OpenAI({ baseURL: endpoint, apiKey: key, maxRetries: 0 })
  const messages = [{ role: 'user' as const, content: 'Say hello.' }]

  await t.test('lists the models', async (t) => {
    const ids = []
    for await (const it of client.models.list()) ids.push(it.id)
    t.same(ids, [model])
    t.equal((await client.models.retrieve(model)).id, model)
  })

  await t.test('gets a whole answer', async (t) => {
    const answer = await client.chat.completions.create({ model, messages, max_tokens: 24 })
    t.equal(answer.object, 'chat.completion')
    t.equal(answer.model, model)
    t.match(answer.choices[0]?.message.content, /\w/)
    t.match(answer.choices[0]?.finish_reason, /^(stop|length)$/)
    t.ok((answer.usage?.completion_tokens ?? 0) > 0)
  })

  await t.test('gets a stream, and the helper puts it together', async (t) => {
    const stream = client.chat.completions.stream({ model, messages, max_tokens: 24 })
    const parts: string[] = []
    stream.on('content', (delta) => parts.push(delta))
    const answer = await stream.finalChatCompletion()
    t.ok(parts.length > 1, 'it came in parts')
    t.equal(parts.join(''), answer.choices[0]?.message.content)
  })

  await t.test('gets log probabilities and a schema-bound answer', async (t) => {
    const answer = await client.chat.completions.create({
      model,
      messages: [{ role: 'user', content: 'Name a colour as JSON.' }],
      max_tokens: 64,
      logprobs: true,
      top_logprobs: 2,
      response_format: {
        type: 'json_schema',
        json_schema: {
          name: 'colour',
          schema: {
            type: 'object',
            properties: { colour: { type: 'string', maxLength: 12 } },
            required: ['colour'],
            additionalProperties: false,
          },
        },
      },
    })
    const choice = answer.choices[0]
    t.type(JSON.parse(choice?.message.content ?? '').colour, 'string')
    t.ok((choice?.logprobs?.content?.length ?? 0) > 1, 'log probabilities were put together')
  })

  await t.test('sees errors as the client types them', async (t) => {
    const wrongKey = new OpenAI({ baseURL: endpoint, apiKey: 'sk-wrong', maxRetries: 0 })
    const errorOf = (of: OpenAI, body: object): Promise<unknown> =>
      of.chat.completions.create({ model, messages, ...body } as never).then(
        () => null,
        (error: unknown) => error,
      )
    const unauthorized = await errorOf(wrongKey, {})
    t.ok(unauthorized instanceof OpenAI.AuthenticationError)
    t.match(unauthorized, { status: 401, code: 'invalid_api_key' })
    const unknown = await errorOf(client, { model: 'no-such' })
    t.ok(unknown instanceof OpenAI.NotFoundError)
    t.match(unknown, { status: 404, code: 'model_not_found' })
    const wrong = await errorOf(client, { messages: 'no' })
    t.ok(wrong instanceof OpenAI.BadRequestError)
    t.match(wrong, { status: 400, param: 'messages' })
    const long = [{ role: 'user', content: 'word '.repeat(20_000) }]
    const refused = await errorOf(client, { messages: long })
    t.ok(refused instanceof OpenAI.BadRequestError, "the engine's own refusal comes through")
    t.match(refused, { code: 'context_length_exceeded' })
  })

  await t.test('frees the slot when it leaves, streaming or plain (RT4)', async (t) => {
    const [replica] = (await instance.status()).replicas
    const cancelled = async () => {
      const { stdout } = await instance.ctl('ctl', 'logs', replica?.replica ?? '', '--lines', '500')
      return stdout.split('cancel task').length - 1
    }
    for (const stream of [true, false]) {
      const before = await cancelled()
      const abort = new AbortController()
      const asked = client.chat.completions.create(
        // a field of llama.cpp, which goes through untouched: the answer does not end by itself
        { model, messages, max_tokens: 4000, ignore_eos: true, stream } as never,
        { signal: abort.signal },
      )
      // it is at work once the router holds it
      const held = until('the request is in flight', 10_000, async () =>
        (await instance.status()).replicas[0]?.inFlight === 1 ? true : null,
      )
      await Promise.race([held, asked.then(drain)])
      abort.abort()
      await asked.then(drain).catch(() => null)
      await until('the engine has cancelled it', 10_000, async () =>
        (await cancelled()) > before ? true : null,
      )
      await until('nothing is in flight', 10_000, async () =>
        (await instance.status()).replicas[0]?.inFlight === 0 ? true : null,
      )
    }
    t.pass('both were cancelled in the engine')
  })
})

async function drain(answer: unknown): Promise<void> {
  if (!(Symbol.asyncIterator in Object(answer))) return
  for await (const _ of answer as AsyncIterable<unknown>);
}
