// A shard's definition and status for tests.
import { type ShardSpec, untold } from '../../actors/shard/protocol.ts'
import type { ShardStatus } from '../../transport/contract/node.ts'

export const shardSpec = (replica: string, key = 'sk-llmgw-engine-key'): ShardSpec => ({
  replica,
  model: 'smol',
  engine: 'llamacpp',
  artifact: {
    name: 'smol',
    version: '1',
    platform: 'any',
    licence: 'MIT',
    fileName: 'smol.gguf',
    executable: false,
    sources: [{ kind: 'path', path: '/smol.gguf' }],
  },
  profile: { contextTokens: 512, slots: 1, cores: 1, memoryBytes: 1 },
  key,
})

export const shardStatus = (replica: string, phase: ShardStatus['phase']): ShardStatus => ({
  ...untold(shardSpec(replica), '127.0.0.1'),
  phase,
})
