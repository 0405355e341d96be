// What an engine breaks that is frozen as a whole, and how it is whole again.
import t from 'tap'
import { startInstance } from '../support/instance.ts'
import { wedge } from '../support/kill.ts'

t.test(
  'EN4: an engine that is frozen by SIGSTOP during a stream is killed and replaced',
  async (t) => {
    const instance = await startInstance(t)
    await wedge(t, instance, 'frozen', (pid) => void process.kill(pid, 'SIGSTOP'))
  },
)
