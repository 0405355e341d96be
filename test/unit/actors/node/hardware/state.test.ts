// When the machine is looked at: every message.
import t from 'tap'
import type { Message } from '../../../../../actors/node/hardware/protocol.ts'
import { init, transition } from '../../../../../actors/node/hardware/state.ts'
import type { Hardware, Load } from '../../../../../transport/contract/hardware.ts'

const load: Load = { memoryAvailableBytes: 1, diskFreeBytes: 2, diskTotalBytes: 3 }
const hardware = { hostname: 'here' } as Hardware
const [fresh] = init()
const wait = { do: 'wait', delayMs: 1000 }

t.test('ND1: hardware and load are looked at at once', async (t) => {
  t.same(init()[1], [{ do: 'probe' }, { do: 'sample' }])
  t.same(transition(fresh, { type: 'probed', hardware })[1], [
    { do: 'say', event: { type: 'hardware', hardware } },
  ])
})

t.test('the load is told, and looked at again a second after the look was over', async (t) => {
  t.same(transition(fresh, { type: 'sampled', load })[1], [
    { do: 'say', event: { type: 'load', load } },
    wait,
  ])
  t.same(transition(fresh, { type: 'due' })[1], [{ do: 'sample' }])
})

t.test('a load that cannot be read is warned of once, not every second', async (t) => {
  const gone: Message = { type: 'unsampled', reason: 'the disk is gone' }
  const [troubled, effects] = transition(fresh, gone)
  t.same(effects, [{ do: 'warn', text: 'the disk is gone' }, wait])
  t.same(transition(troubled, gone)[1], [wait])
  const [well] = transition(troubled, { type: 'sampled', load })
  t.equal(transition(well, gone)[1].length, 2, 'and again after it had been well')
})

t.test('a probe that fails as a whole is a fault of the program', async (t) => {
  t.throws(() => transition(fresh, { type: 'unprobed', reason: 'bug' }), /bug/)
})
