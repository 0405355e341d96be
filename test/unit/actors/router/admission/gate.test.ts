// Holds at the gate: each ends exactly once.
import t from 'tap'
import { openGate } from '../../../../../actors/router/admission/gate.ts'

t.test('every hold ends exactly once, however often it is ended', async (t) => {
  const gate = openGate()
  const key = { id: 'k', name: 'k', scope: 'root' }
  const admitted = [
    gate.admit(key, 'm', { promptBytes: 1 }),
    gate.admit(key, 'm', { promptBytes: 1 }),
  ]
  t.equal(gate.held, 2)
  const [first, second] = await Promise.all(admitted)
  if (!first?.ok || !second?.ok) throw new Error('refused')
  first.hold.end()
  first.hold.end()
  t.equal(gate.held, 1)
  second.hold.end()
  t.equal(gate.held, 0)
})
