// A program for the tests of runProgram: its first argument says how it behaves.
import { type Context, runProgram } from '../../kernel/program.ts'
import { doer, specOf } from './actors.ts'

const how = process.argv[2]

async function start({ log, system, ending }: Context) {
  const behaviour = {
    ...doer(() => {
      if (how === 'crash') throw new Error('an actor that cannot')
    }),
    stopped: async () => log.info('actor stopped'),
  }
  system.spawn(specOf('only', behaviour, { intensity: 0 }))
  if (how === 'refuse') throw new Error('a start that cannot')
  if (how === 'reject') setTimeout(() => Promise.reject(new Error('nobody caught this')), 1)
  const alive = setInterval(() => {}, 1000)
  log.info('up')
  if (how === 'slow') {
    await new Promise((_, reject) => ending.addEventListener('abort', () => reject(ending.reason)))
  }
  return {
    async stop(signal: string) {
      log.info(`stop ${signal}`)
      if (how === 'hang') await new Promise(() => {})
      clearInterval(alive)
    },
  }
}

runProgram({ name: 'llmgw-fixture', start })
