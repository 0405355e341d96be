// A keeper in a program of its own, to be killed: adopts or launches the process of one slot and tells what happens as lines of JSON.
import { processPorts } from '../../actors/process/io/ports.ts'
import type { ProcessSpec } from '../../actors/process/protocol.ts'

const [dir = '', specText = ''] = process.argv.slice(2)
const spec = JSON.parse(specText) as ProcessSpec
const say = (event: object): void => {
  process.stdout.write(`${JSON.stringify(event)}\n`)
}
const ports = processPorts({ dir, log: { warn: (_, text) => say({ event: 'warning', text }) } })
const onEnd = (exit: object): void => say({ event: 'ended', ...exit })

const found = await ports.look(onEnd)
if (found === undefined) say({ event: 'launched', pid: await ports.launch(spec, onEnd) })
else say({ event: 'adopted', pid: found.pid })
