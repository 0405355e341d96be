// What a kill of the engine breaks, and how it is whole again.
import t from 'tap'
import { chat, startInstance, until } from '../support/instance.ts'
import { answers, readStream } from '../support/kill.ts'

t.test(
  'a killed engine is started again by its shard (EN4); its stream ends with an error, never cleanly',
  async (t) => {
    const instance = await startInstance(t)
    const engine = await instance.enginePid()
    const stream = readStream(await chat(instance, { stream: true, maxTokens: 1000 }))
    const killedAt = performance.now()
    process.kill(engine, 'SIGKILL')
    const { ended, text } = await stream
    t.notOk(ended, 'a broken stream is not passed off as a finished one')
    t.match(text, /"error"/, 'the client is told')
    const next = await until('another engine is ready', 30_000, async () => {
      const replica = (await instance.status()).replicas.find((it) => it.state === 'ready')
      return replica?.pid !== engine ? replica?.pid : null
    })
    await answers(instance)
    t.not(next, engine)
    t.comment(`engine killed: whole again after ${Math.round(performance.now() - killedAt)} ms`)
  },
)
