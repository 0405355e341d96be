// What a kill of router-1 breaks, and how it is whole again.
import t from 'tap'
import { startInstance } from '../support/instance.ts'
import { kill } from '../support/kill.ts'

t.test('a killed router comes back, and the other one serves meanwhile', async (t) => {
  const instance = await startInstance(t)
  const engine = await instance.enginePid()
  const { recoveredMs } = await kill(t, instance, 'router-1')
  t.ok(recoveredMs > 0)
  t.equal(await instance.enginePid(), engine, 'the engine runs on under its pid')
})
