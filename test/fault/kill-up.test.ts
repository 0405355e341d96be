// What a kill of the supervisor breaks: nothing; and how its successor takes over.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { chat, startInstance } from '../support/instance.ts'
import { answers, readStream } from '../support/kill.ts'

t.test(
  'a killed `up` stops nothing, and the next one takes over all under their pids (EN2)',
  async (t) => {
    const instance = await startInstance(t)
    const before = await instance.status()
    const stream = readStream(await chat(instance, { stream: true, maxTokens: 300 }))
    const holder = readFileSync(join(instance.dir, 'run', 'up', 'lock.holder'), 'utf8')
    process.kill((JSON.parse(holder) as { pid: number }).pid, 'SIGKILL')
    await answers(instance)
    const startedAt = performance.now()
    await instance.up()
    t.comment(
      `taken over after ${Math.round(performance.now() - startedAt)} ms, the answer to its question included`,
    )
    const after = await instance.status()
    t.same(after.programs, before.programs, 'all programs run on under their pids')
    t.same(
      after.replicas.map((it) => [it.replica, it.pid]),
      before.replicas.map((it) => [it.replica, it.pid]),
    )
    t.ok((await stream).ended, 'the stream ended whole')
  },
)
