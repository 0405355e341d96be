// Work of clients who left: when its place is free again.
import fc from 'fast-check'
import t from 'tap'
import { ghostMs, goneGhosts } from '../../../../../actors/router/table/ghosts.ts'
import type { GhostCheck } from '../../../../../actors/router/table/protocol.ts'
import { Seats } from '../../../../../actors/router/table/seats.ts'

const at = (ms: number, until = 10_000) => ({ at: ms, until })
const gone = (change: Partial<GhostCheck>) =>
  goneGhosts({ replica: 'r', askedAt: 100, busy: 0, settled: 0, ghosts: [], now: 150, ...change })

t.test("a ghost ends when the engine has no more than this router's own", async (t) => {
  const ghosts = [at(10)]
  t.same(gone({ ghosts, busy: 0 }), ghosts)
  t.same(gone({ ghosts, busy: 2, settled: 2 }), ghosts)
  t.same(gone({ ghosts, busy: 1 }), [], 'it may be the one')
  t.same(gone({ ghosts, busy: 3, settled: 2 }), [])
})

t.test('of several as many end as there is no room for', async (t) => {
  const ghosts = [at(10), at(20), at(30)]
  t.same(gone({ ghosts, busy: 2 }), [at(10)])
  t.same(gone({ ghosts, busy: 9 }), [])
})

t.test('a count that was asked for before the cancel says nothing', async (t) => {
  t.same(gone({ ghosts: [at(100), at(120)], busy: 0 }), [])
})

t.test('a count that is not known says nothing, the deadline does', async (t) => {
  t.same(gone({ ghosts: [at(10)], busy: null }), [])
  t.same(gone({ ghosts: [at(10), at(20, 150)], busy: null }), [at(20, 150)])
  t.same(gone({ ghosts: [at(10), at(20, 150)], busy: 5 }), [at(20, 150)])
})

t.test('no ghost ends early, whatever else is in the engine', async (t) => {
  fc.assert(
    fc.property(fc.nat(5), fc.nat(5), fc.nat(5), fc.nat(5), (alive, dead, settled, others) => {
      const ghosts = Array.from({ length: alive + dead }, (_, index) => at(index))
      const ended = gone({ ghosts, settled, busy: alive + settled + others })
      t.ok(ended.length <= dead)
      if (others === 0) t.equal(ended.length, dead)
    }),
    { numRuns: 100 },
  )
})

t.test('the deadline grows with the prompt, within bounds', async (t) => {
  t.equal(ghostMs(0), 10_000)
  t.equal(ghostMs(8000), 110_000)
  t.equal(ghostMs(1e9), 900_000)
})

t.test('settled are those that the engine had when it was asked', async (t) => {
  const seats = new Seats()
  const { sittings } = seats.at('r')
  sittings.add({ sentAt: null, answeringAt: null })
  sittings.add({ sentAt: 9_500, answeringAt: null })
  sittings.add({ sentAt: 9_990, answeringAt: 10_010 })
  t.equal(seats.settled('r', 10_000), 0)
  sittings.add({ sentAt: 9_000, answeringAt: null })
  sittings.add({ sentAt: 9_990, answeringAt: 10_000 })
  t.equal(seats.settled('r', 10_000), 2)
  t.equal(seats.load('r'), 5)
  t.equal(seats.load('other'), 0)
})

t.test('a seat is forgotten when nothing is on it and nobody knows it', async (t) => {
  const seats = new Seats()
  for (const replica of ['known', 'empty', 'haunted', 'busy']) seats.at(replica)
  const ghost = at(1)
  seats.at('haunted').ghosts.push(ghost)
  seats.at('busy').sittings.add({ sentAt: 1, answeringAt: null })
  seats.forgetAllBut(new Set(['known']))
  t.same(
    [...seats.all()].map((it) => it.replica),
    ['known', 'haunted', 'busy'],
  )
  seats.endGhosts('haunted', [ghost])
  seats.forgetAllBut(new Set())
  t.same(
    [...seats.all()].map((it) => it.replica),
    ['busy'],
  )
})
