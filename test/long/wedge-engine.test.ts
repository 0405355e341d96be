// What an engine breaks that is alive and healthy but makes no token any more, and how it is whole again.
import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { type Instance, startInstance } from '../support/instance.ts'
import { wedge } from '../support/kill.ts'

const freezer = fileURLToPath(new URL('../../../test/support/freeze-thread.py', import.meta.url))

const scope = '/proc/sys/kernel/yama/ptrace_scope'
const mayTrace =
  process.getuid?.() === 0 || !existsSync(scope) || readFileSync(scope, 'utf8').trim() === '0'
const skip = mayTrace ? false : `the kernel lets only root trace other processes (${scope})`

/** Freezes the thread that computes, for as long as the process lives; what it says instead of "frozen" is why it cannot. */
function freezeBusiest(t: { teardown(act: () => unknown): void }, pid: number): Promise<string> {
  const tracer = spawn('python3', [freezer, String(pid)], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => tracer.kill('SIGKILL'))
  return new Promise((resolve) => {
    createInterface(tracer.stdout).once('line', resolve)
    tracer.once('error', ({ message }) => resolve(message))
    tracer.once('exit', (code) => resolve(`it ended with code ${code}`))
  })
}

function healthOf({ dir }: Instance): Promise<Response> {
  const shards = join(dir, 'run', 'shards')
  const [replica = ''] = readdirSync(shards)
  const { port } = JSON.parse(readFileSync(join(shards, replica, 'shard.json'), 'utf8'))
  return fetch(`http://127.0.0.1:${port}/health`)
}

t.test(
  'EN4: an engine that is healthy but makes no token during a stream is replaced',
  { skip },
  async (t) => {
    const instance = await startInstance(t)
    await wedge(t, instance, 'wedged', async (pid) => {
      t.equal(await freezeBusiest(t, pid), 'frozen', 'the thread that computes is frozen')
      t.equal((await healthOf(instance)).status, 200, 'nothing is wrong with its health')
    })
  },
)
