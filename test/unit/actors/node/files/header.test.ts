// What is read out of a GGUF file's metadata.
import t from 'tap'
import { headerOf } from '../../../../../actors/node/files/header.ts'

const metadata = {
  'general.architecture': 'llama',
  'llama.block_count': 2n,
  'llama.embedding_length': 64,
  'llama.attention.head_count': 4,
  'llama.context_length': 8192,
  'tokenizer.ggml.tokens': ['a', 'b', 'c'],
}
const tensor = { shape: [64n, 3n], offset: 1000n }
const read = (more: object = {}, fileBytes = 5000) =>
  headerOf(
    { metadata: { ...metadata, ...more }, tensorInfos: [tensor], tensorDataOffset: 500n },
    fileBytes,
  )

t.test('what a file does not say is what its format defines', async (t) => {
  t.same(read(), {
    ok: true,
    header: {
      architecture: 'llama',
      weightsBytes: 4500,
      layers: 2,
      embeddingLength: 64,
      heads: 4,
      headsKv: 4,
      keyLength: 16,
      valueLength: 16,
      vocabulary: 3,
      trainContextTokens: 8192,
    },
  })
})

t.test('what a file says wins', async (t) => {
  const said = {
    'llama.attention.head_count': [4, 8],
    'llama.attention.head_count_kv': [2, 0],
    'llama.attention.key_length': 128,
    'llama.attention.value_length': 96,
    'llama.vocab_size': 7,
  }
  t.match(read(said), {
    header: { heads: 8, headsKv: [2, 0], keyLength: 128, valueLength: 96, vocabulary: 7 },
  })
})

for (const [what, more, fileBytes, problem] of [
  ['whose tensors reach beyond its end', {}, 1510, /cut off/],
  ['that is one of several parts', { 'split.count': 3 }, 5000, /one of 3 parts; join/],
  ['of another kind', { 'general.architecture': 'clip' }, 5000, /no language model .*clip/],
  ['with a header that makes no sense', { 'llama.block_count': -1 }, 5000, /damaged at layers/],
  ['without heads', { 'llama.attention.head_count': 0 }, 5000, undefined],
] as const) {
  t.test(`a file ${what} is ${problem ? 'refused with the reason' : 'read'}`, async (t) => {
    const result = read(more, fileBytes)
    if (problem) t.match(result, { ok: false, problem })
    else t.match(result, { ok: true, header: { keyLength: 0 } })
  })
}
