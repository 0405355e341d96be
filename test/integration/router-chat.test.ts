// The request path with the fake engine: what the openai client gets, streaming and not.
import OpenAI from 'openai'
import t from 'tap'
import { startFakeEngine } from '../support/fake-engine/engine.ts'
import { secret, startTestRouter } from '../support/router.ts'

const chat = { model: 'fake', messages: [{ role: 'user' as const, content: 'Hi' }] }

t.test('the openai client works unchanged (RT1)', async (t) => {
  const engine = await startFakeEngine({ key: 'key-of-r1' })
  const router = await startTestRouter({
    engines: { r1: engine.port },
    models: ['fake', 'org/name:7b'],
  })
  t.teardown(async () => {
    await router.close()
    await engine.close()
  })
  const client = new OpenAI({ apiKey: secret, baseURL: `${router.url}/v1`, maxRetries: 0 })

  await t.test("a plain chat is put together from the engine's stream", async (t) => {
    const answer = await client.chat.completions.create(chat)
    t.match(answer, {
      object: 'chat.completion',
      choices: [
        { message: { role: 'assistant', content: 'Hello, world!' }, finish_reason: 'stop' },
      ],
      usage: { completion_tokens: 4 },
      timings: { predicted_n: 4 },
    })
    t.match(answer._request_id, /^req_/)
  })

  await t.test('a streamed chat has its deltas, and no usage that was not asked for', async (t) => {
    let text = ''
    for await (const chunk of await client.chat.completions.create({ ...chat, stream: true })) {
      text += chunk.choices[0]?.delta.content ?? ''
      t.notOk(chunk.usage)
    }
    t.equal(text, 'Hello, world!')
  })

  await t.test('models are listed and found by name, slashes and all', async (t) => {
    const models = (await client.models.list()).data.map((it) => it.id)
    t.same(models, ['fake', 'org/name:7b'])
    t.match(await client.models.retrieve('org/name:7b'), { id: 'org/name:7b', object: 'model' })
    const raw = await fetch(`${router.url}/v1/models/org/name:7b`, {
      headers: { authorization: `Bearer ${secret}` },
    })
    t.equal(raw.status, 200)
  })
  await router.quiet()
})
