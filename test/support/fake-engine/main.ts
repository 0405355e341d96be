// The fake engine as a program: `main.js --port 0 --behaviour '{"slots":1}'`; says where it listens and runs until a signal.
import { parseArgs } from 'node:util'
import type { Behaviour } from './behaviour.ts'
import { startFakeEngine } from './engine.ts'

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    behaviour: { type: 'string', default: '{}' },
  },
})
const engine = await startFakeEngine(
  JSON.parse(values.behaviour) as Partial<Behaviour>,
  Number(values.port),
)
process.stdout.write(`listening on ${engine.port}\n`)
