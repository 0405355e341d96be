// Authority over time, on a clock moved by hand.
import t from 'tap'
import { LeaseAuthority } from '../../../../../actors/cluster/election/io/authority.ts'
import type { Instant } from '../../../../../actors/cluster/election/protocol.ts'
import { manualClock } from '../../../../support/manual-clock.ts'

t.test(
  'authority is of one leadership, and ends by itself on whichever clock is ahead',
  async (t) => {
    const clock = manualClock()
    const now = (): Instant => ({
      monotonicMs: clock.monotonicMs(),
      bootMs: clock.bootMs(),
      wallMs: clock.wallMs(),
    })
    const authority = new LeaseAuthority(now)
    t.equal(authority.remainingMs(7), 0)
    authority.extend(7, now(), 1000)
    t.equal(authority.remainingMs(7), 1000)
    t.equal(authority.remainingMs(6), 0)
    clock.advance(400)
    t.equal(authority.remainingMs(7), 600)
    clock.suspend(500)
    t.equal(authority.remainingMs(7), 100, 'a suspended machine has used it up')
    clock.stepWall(-9000)
    t.equal(authority.remainingMs(7), 100)
    clock.stepWall(99_000)
    t.equal(authority.remainingMs(7), 0)
    authority.extend(7, now(), 1000)
    authority.end()
    t.equal(authority.remainingMs(7), 0)
  },
)
