// The watcher of hardware as an actor, on a clock that the test moves.
import t from 'tap'
import { hardwareWatcher, type Ports } from '../../../../../actors/node/hardware/actor.ts'
import type { Event } from '../../../../../actors/node/hardware/protocol.ts'
import type { Hardware } from '../../../../../transport/contract/hardware.ts'
import { lab, settle, specOf } from '../../../../support/actors.ts'

const hardware = { hostname: 'here' } as Hardware
const load = { memoryAvailableBytes: 1, diskFreeBytes: 2, diskTotalBytes: 3 }

function watcher(change: Partial<Ports>) {
  const { system, clock, crashes } = lab()
  const events: Event[] = []
  const warnings: string[] = []
  const ports: Ports = {
    probe: async () => hardware,
    sample: async () => load,
    warn: (text) => warnings.push(text),
    ...change,
  }
  system.spawn(
    specOf(
      'hardware',
      hardwareWatcher(ports, (event) => events.push(event)),
    ),
  )
  return { system, clock, crashes, events, warnings }
}

t.test('the hardware is told once, the load every second', async (t) => {
  const it = watcher({})
  await settle()
  t.same(it.events.map(({ type }) => type).sort(), ['hardware', 'load'])
  it.clock.advance(1000)
  await settle()
  t.same(it.events.at(-1), { type: 'load', load })
  t.equal(it.events.length, 3)
  await it.system.stop()
})

t.test('a load that cannot be read is warned of, and looked at again', async (t) => {
  let fails = true
  const sample = async () => {
    if (fails) throw new Error('the disk is gone')
    return load
  }
  const it = watcher({ sample })
  await settle()
  t.same(it.warnings, ['the disk is gone'])
  fails = false
  it.clock.advance(1000)
  await settle()
  t.same(it.events.at(-1), { type: 'load', load })
  await it.system.stop()
})

t.test('a probe that fails as a whole is a crash', async (t) => {
  const it = watcher({ probe: () => Promise.reject(new Error('a bug')) })
  await settle()
  t.match(it.crashes, [{ error: /a bug/ }])
  await it.system.stop()
})
