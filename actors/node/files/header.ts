// Reads out of a parsed GGUF file what its memory depends on, and notices files that are cut off.
import { z } from 'zod'
import { type Header, headerSchema } from '../../../transport/contract/model.ts'
import { problemOf } from '../../../transport/contract/problem.ts'

/** What a reader of GGUF files answers, as far as it is used. */
export type ParsedGguf = {
  metadata: object
  tensorInfos: readonly { shape: readonly bigint[]; offset: bigint }[]
  tensorDataOffset: bigint
}

const number = z.union([z.number(), z.bigint()]).transform(Number)
const numbers = z.union([number, z.array(number)])

/** The header, or why there is none. */
export function headerOf(
  { metadata, tensorInfos, tensorDataOffset }: ParsedGguf,
  fileBytes: number,
): { ok: true; header: Header } | { ok: false; problem: string } {
  if (Number(tensorDataOffset) + leastBytes(tensorInfos) > fileBytes) {
    return { ok: false, problem: 'it is cut off: its tensors reach beyond its end' }
  }
  const values = new Map<string, unknown>(Object.entries(metadata))
  const parts = number.safeParse(values.get('split.count')).data ?? 1
  if (parts > 1) {
    return {
      ok: false,
      problem: `it is one of ${parts} parts; join them with llama-gguf-split --merge`,
    }
  }
  const architecture = String(values.get('general.architecture'))
  const at = <T>(schema: z.ZodType<T>, name: string): T | undefined =>
    schema.safeParse(values.get(`${architecture}.${name}`)).data
  const layers = at(number, 'block_count')
  const embeddingLength = at(number, 'embedding_length')
  const headsByLayer = at(numbers, 'attention.head_count')
  if (layers === undefined || embeddingLength === undefined || headsByLayer === undefined) {
    return { ok: false, problem: `it holds no language model (architecture ${architecture})` }
  }
  const heads = Math.max(...[headsByLayer].flat())
  const headLength = heads > 0 ? Math.floor(embeddingLength / heads) : 0
  const tokens = values.get('tokenizer.ggml.tokens')
  const header = headerSchema.safeParse({
    architecture,
    weightsBytes: fileBytes - Number(tensorDataOffset),
    layers,
    embeddingLength,
    heads,
    headsKv: at(numbers, 'attention.head_count_kv') ?? heads,
    keyLength: at(number, 'attention.key_length') ?? headLength,
    valueLength: at(number, 'attention.value_length') ?? headLength,
    vocabulary: at(number, 'vocab_size') ?? (Array.isArray(tokens) ? tokens.length : 0),
    trainContextTokens: at(number, 'context_length') ?? null,
  })
  return header.success
    ? { ok: true, header: header.data }
    : { ok: false, problem: `its header is damaged at ${problemOf(header.error)}` }
}

/** Where the last tensor ends at the earliest: no kind of number takes less than one bit. */
function leastBytes(tensors: ParsedGguf['tensorInfos']): number {
  const ends = tensors.map(({ shape, offset }) => {
    const elements = shape.reduce((product, dimension) => product * Number(dimension), 1)
    return Number(offset) + elements / 8
  })
  return ends.reduce((last, end) => Math.max(last, end), 0)
}
