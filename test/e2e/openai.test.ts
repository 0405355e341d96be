// The stock client of npm against the whole system: real engine, real model.
import OpenAI from 'openai'
import t from 'tap'
import { startInstance } from '../support/instance.ts'

t.test('the stock openai client works unchanged (RT1)', async (t) => {
  const { endpoint, key, model } = await startInstance(t)
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
    const create = (of: OpenAI, body: object) =>
      of.chat.completions.create({ model, messages, ...body } as never)
    await t.rejects(create(wrongKey, {}), { status: 401, code: 'invalid_api_key' })
    await t.rejects(create(wrongKey, {}), OpenAI.AuthenticationError)
    await t.rejects(create(client, { model: 'no-such' }), OpenAI.NotFoundError)
    await t.rejects(create(client, { messages: 'no' }), OpenAI.BadRequestError)
    await t.rejects(
      create(client, { messages: [{ role: 'user', content: 'word '.repeat(20_000) }] }),
      OpenAI.BadRequestError,
      "the engine's own refusal comes through",
    )
  })

  await t.test('frees the slot when it leaves, streaming or plain (RT4)', async (t) => {
    for (const stream of [true, false]) {
      const abort = new AbortController()
      const asked = client.chat.completions.create(
        { model, messages, max_tokens: 2000, stream } as never,
        { signal: abort.signal },
      )
      setTimeout(() => abort.abort(), 300)
      await t.rejects(
        asked.then(async (it) => {
          for await (const _ of it as unknown as AsyncIterable<unknown>);
          throw new Error('it ended by itself')
        }),
      )
      const startedAt = performance.now()
      await client.chat.completions.create({ model, messages, max_tokens: 4 })
      t.comment(`answered ${Math.round(performance.now() - startedAt)} ms after the abort`)
    }
  })
})
