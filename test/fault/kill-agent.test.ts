// What a kill of node breaks, and how it is whole again.
import t from 'tap'
import { startInstance } from '../support/instance.ts'
import { kill } from '../support/kill.ts'

t.test(
  'a killed agent comes back and adopts the running engine; a stream that runs through its death ends whole (EN2)',
  async (t) => {
    const instance = await startInstance(t)
    const engine = await instance.enginePid()
    const { streamEnded, text } = await kill(t, instance, 'node')
    t.ok(streamEnded, `the stream ended whole: …${text.slice(-200)}`)
    t.equal(await instance.enginePid(), engine, 'the engine runs on under its pid')
  },
)
