// One shard in a program of its own, to be killed: tells each status as a line of JSON.
import { startShard } from './shard-lab.ts'
import { shardSpec } from './shards.ts'

const [dir = '', replica = '', lifePath = ''] = process.argv.slice(2)
const { seen } = startShard(dir, shardSpec(replica), lifePath)
let told = 0
setInterval(() => {
  for (; told < seen.length; told += 1) process.stdout.write(`${JSON.stringify(seen[told])}\n`)
}, 10)
