// The HTTP server by itself: what it has taken reaches a slow client, whether more follows or not.
import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { startHttpServer } from '../../transport/http.ts'
import { eventually } from '../support/own-process.ts'

t.test(
  'a write that the client did not take at once reaches it without a further one',
  async (t) => {
    let written = 0
    const server = await startHttpServer({ host: '127.0.0.1', port: 0 }, (exchange) => {
      const chunk = new Uint8Array(60_000).fill(0x78)
      exchange.onDrain(() => undefined)
      let taken = exchange.begin(200, [], chunk)
      for (written = 1; taken; written += 1) taken = exchange.write(chunk)
    })
    t.teardown(() => server.close())
    const socket = connect(server.port, '127.0.0.1')
    t.teardown(() => socket.destroy())
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
    await delay(200)
    let bytes = 0
    socket.on('data', (data: Buffer) => {
      bytes += data.length
    })
    await eventually('all of it is there', () => bytes > written * 60_000)
    t.pass()
  },
)
