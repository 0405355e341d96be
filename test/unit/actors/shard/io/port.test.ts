// Ports for engines.
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import t from 'tap'
import { enginePorts, freePort, isTaken } from '../../../../../actors/shard/io/port.ts'

t.test('engines have ports outside the range from which the kernel takes its own', async (t) => {
  t.same(enginePorts('32768\t60999\n'), { from: 20_000, to: 32_767 })
  t.same(enginePorts('15000\t60999\n'), { from: 61_000, to: 65_535 })
  t.same(enginePorts('1024 65535'), { from: 20_000, to: 65_535 }, 'or any where it takes all')
})

t.test('a port is free where nobody listens', async (t) => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen({ host: '127.0.0.1', port: 0 }, resolve))
  t.teardown(() => server.close())
  t.ok(await isTaken('127.0.0.1', (server.address() as AddressInfo).port))
  const port = await freePort('127.0.0.1', () => 0.5)
  t.notOk(await isTaken('127.0.0.1', port))
  await t.rejects(
    freePort('203.0.113.1', () => 0),
    { code: 'EADDRNOTAVAIL' },
  )
})
