// When a leader on the same machine counts as gone.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { isGone, ownIdentity } from '../../../../../actors/cluster/election/io/process-identity.ts'

t.test('only a process that surely ran here and is not there any more is gone', async (t) => {
  const self = await ownIdentity()
  t.equal(self.pid, process.pid)
  t.equal(await isGone(self, self), false)
  const child = spawn('sleep', ['60'])
  await once(child, 'spawn')
  const pid = child.pid ?? 0
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const startTicks = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19])
  const other = { ...self, pid, startTicks }
  t.equal(await isGone(other, self), false)
  t.equal(
    await isGone({ ...other, startTicks: startTicks - 1 }, self),
    true,
    'its number was given again',
  )
  child.kill('SIGKILL')
  await once(child, 'exit')
  t.equal(await isGone(other, self), true)
  t.equal(await isGone({ ...other, bootId: 'another machine' }, self), false)
  t.equal(await isGone({ ...other, pidNamespace: 'pid:[1]' }, self), false)
})
