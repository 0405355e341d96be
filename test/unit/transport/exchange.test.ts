// One question over a connection that comes and goes: asked once, and ended by whatever comes first.
import t from 'tap'
import type { BusStatus } from '../../../transport/bus.ts'
import { exchange } from '../../../transport/exchange.ts'

function connectionOf(state: { connected: boolean; closed?: boolean }) {
  const listeners = new Set<(status: BusStatus) => void>()
  const bus = {
    get connected() {
      return state.connected
    },
    connection: { isClosed: () => state.closed ?? false },
    onStatus(listener: (status: BusStatus) => void) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
  const tell = (status: BusStatus): void => {
    for (const listener of listeners) listener(status)
  }
  return { bus, tell, listeners }
}
const never = () => new Promise<never>(() => undefined)

t.test('with a connection it asks at once, and hands on what comes', async (t) => {
  const { bus, listeners } = connectionOf({ connected: true })
  t.equal(await exchange(bus, 60_000, async (leftMs) => leftMs <= 60_000 && leftMs > 1000), true)
  await t.rejects(
    exchange(bus, 1000, async () => {
      throw new Error('refused')
    }),
    /refused/,
  )
  t.equal(listeners.size, 0)
})

t.test('without one it waits and then asks, once', async (t) => {
  const { bus, tell, listeners } = connectionOf({ connected: false })
  let asked = 0
  const answer = exchange(bus, 1000, async () => ++asked)
  t.equal(asked, 0)
  tell({ type: 'disconnected', reason: 'still' })
  tell({ type: 'connected', epoch: 2 })
  tell({ type: 'connected', epoch: 3 })
  t.equal(await answer, 1)
  t.equal(asked, 1)
  t.equal(listeners.size, 0)
})

t.test('a connection that is lost on the way ends it', async (t) => {
  const { bus, tell, listeners } = connectionOf({ connected: true })
  const answer = exchange(bus, 10_000, never)
  tell({ type: 'disconnected', reason: 'gone' })
  await t.rejects(answer, /lost/)
  t.equal(listeners.size, 0)
})

t.test('a connection that is closed ends it, or never lets it begin', async (t) => {
  const { bus, tell } = connectionOf({ connected: false })
  const answer = exchange(bus, 10_000, never)
  tell({ type: 'closed', reason: 'revoked' })
  await t.rejects(answer, /closed: revoked/)
  await t.rejects(
    exchange(connectionOf({ connected: false, closed: true }).bus, 10, never),
    /closed/,
  )
})

t.test('its time ends it', async (t) => {
  for (const connected of [true, false]) {
    const { bus, listeners } = connectionOf({ connected })
    await t.rejects(exchange(bus, 5, never), /within 5 ms/)
    t.equal(listeners.size, 0)
  }
})
