// A GGUF file without tensors: enough of a model for whoever reads headers.
import { GGUFValueType, serializeGgufMetadata } from '@huggingface/gguf'

/** Its bytes; other contents for other names. */
export function tinyGguf(name = 'tiny'): Buffer {
  const uint32 = (value: number) => ({ value, type: GGUFValueType.UINT32 })
  const text = (value: string) => ({ value, type: GGUFValueType.STRING })
  const metadata = {
    version: { value: 3 as const, type: GGUFValueType.UINT32 as const },
    tensor_count: { value: 0n, type: GGUFValueType.UINT64 as const },
    kv_count: { value: 7n, type: GGUFValueType.UINT64 as const },
    'general.architecture': text('llama'),
    'general.name': text(name),
    'llama.block_count': uint32(2),
    'llama.embedding_length': uint32(64),
    'llama.attention.head_count': uint32(4),
    'llama.context_length': uint32(512),
    'llama.vocab_size': uint32(100),
  }
  return Buffer.from(serializeGgufMetadata(metadata as Parameters<typeof serializeGgufMetadata>[0]))
}
