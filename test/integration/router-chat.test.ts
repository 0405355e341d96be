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

  await t.test('calls of tools arrive the same in both forms', async (t) => {
    const part = (delta: object, finish_reason: string | null = null) => ({
      id: 'c1',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'fake',
      choices: [{ index: 0, delta, finish_reason }],
    })
    const call = (fields: object) => part({ tool_calls: [{ index: 0, ...fields }] })
    const events = [
      part({ role: 'assistant', content: null }),
      call({ id: 'call_1', type: 'function', function: { name: 'look', arguments: '' } }),
      call({ function: { arguments: '{"at":' } }),
      call({ function: { arguments: '1}' } }),
      part({}, 'tool_calls'),
    ]
    const wanted = [
      { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"at":1}' } },
    ]
    engine.next({ events }, { events })
    const plain = await client.chat.completions.create(chat)
    t.match(plain.choices[0]?.message, { content: null, tool_calls: wanted })
    const streamed = await client.chat.completions.stream(chat).finalChatCompletion()
    t.match(streamed.choices[0]?.message.tool_calls, wanted)
    t.equal(streamed.choices[0]?.finish_reason, 'tool_calls')
  })

  await t.test('leaving the loop of a stream tells the engine', async (t) => {
    engine.next({ deltas: Array(100).fill('x'), paceMs: 20 })
    for await (const _ of await client.chat.completions.create({ ...chat, stream: true })) break
    await engine.idle()
    t.ok(engine.seen.at(-1)?.leftAt)
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
