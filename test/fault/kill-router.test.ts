// What a kill of router-1 breaks, and how it is whole again.
import t from 'tap'
import { startInstance } from '../support/instance.ts'
import { kill } from '../support/kill.ts'

t.test('a killed router comes back, and requests are answered', async (t) => {
  const instance = await startInstance(t)
  const engine = await instance.enginePid()
  await kill(t, instance, 'router-1')
  t.equal(await instance.enginePid(), engine, 'the engine runs on under its pid')
})
