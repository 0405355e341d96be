// How the ends of tries are told to the table.
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { gatherTryEnds } from '../../../../../actors/router/io/try-ends.ts'
import type { TryEnd } from '../../../../../actors/router/table/protocol.ts'

const end = (at: number): TryEnd => ({ replica: 'a', how: 'open', ghost: false, at })

t.test('ends of one turn are told together, and what was not taken is told again', async (t) => {
  const told: number[][] = []
  let full = false
  const tell = gatherTryEnds((tries) => {
    if (!full) told.push(tries.map((it) => it.at))
    return !full
  })
  tell(end(1))
  tell(end(2))
  t.same(told, [])
  await turn()
  t.same(told, [[1, 2]])
  full = true
  tell(end(3))
  await turn()
  tell(end(4))
  full = false
  await delay(150)
  t.same(told, [
    [1, 2],
    [3, 4],
  ])
})
