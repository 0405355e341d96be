// What a kill of nats-server breaks, and how it is whole again.
import t from 'tap'
import { startInstance } from '../support/instance.ts'
import { kill } from '../support/kill.ts'

t.test('a killed store comes back; streams and requests go on meanwhile (CL12)', async (t) => {
  const instance = await startInstance(t)
  const engine = await instance.enginePid()
  const { streamEnded, text } = await kill(t, instance, 'nats-server')
  t.ok(streamEnded, `the stream ended whole: …${text.slice(-200)}`)
  t.equal(await instance.enginePid(), engine, 'the engine runs on under its pid')
})
