// runProgram, run for real: signals, failures and the exit code of each.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const fixture = fileURLToPath(new URL('../support/program-fixture.js', import.meta.url))

/** Runs the fixture, sends one of `signals` at each line 'up' or 'stop …', and answers its exit code and messages. */
async function run(how: string, ...signals: NodeJS.Signals[]) {
  const child = spawn(process.execPath, [fixture, how], { stdio: ['ignore', 'pipe', 'inherit'] })
  const messages: string[] = []
  createInterface({ input: child.stdout }).on('line', (line) => {
    const { msg, err } = JSON.parse(line)
    messages.push(err ? `${msg}: ${err.message}` : msg)
    const signal = /^(up|stop )/.test(msg) && signals.shift()
    if (signal) child.kill(signal)
  })
  const [code] = await once(child, 'close')
  return { code, messages }
}

t.test('a signal stops the program, then its actors, and the exit code is 0', async (t) => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    const messages = ['up', 'ending', `stop ${signal}`, 'actor stopped', 'ended']
    t.same(await run('well', signal), { code: 0, messages })
  }
})

t.test('a signal breaks off a start that listens for it', async (t) => {
  t.match(await run('slow', 'SIGTERM'), { code: 0 })
})

t.test('a second signal ends at once with 1', async (t) => {
  const { code, messages } = await run('hang', 'SIGINT', 'SIGTERM')
  t.equal(code, 1)
  t.equal(messages.at(-1), 'a second signal: SIGTERM')
})

t.test(
  'every failure is logged and ends with 1, actors first where that is possible',
  async (t) => {
    const told = async (how: string) => {
      const { code, messages } = await run(how)
      t.equal(code, 1, how)
      return messages.slice(-2)
    }
    t.same(await told('refuse'), ['actor stopped', 'the start failed: a start that cannot'])
    t.match((await told('crash'))[1], /^an actor failed past its budget: .*an actor that cannot$/)
    t.equal((await told('reject'))[1], 'unhandledRejection: the program ends: nobody caught this')
  },
)
