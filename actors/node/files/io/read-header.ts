// Reads the header of a GGUF file on this machine.
import { stat } from 'node:fs/promises'
import { gguf } from '@huggingface/gguf'
import { LlmgwError, messageOf } from '../../../../kernel/errors.ts'
import type { Header } from '../../../../transport/contract/model.ts'
import { headerOf } from '../header.ts'

/** Throws LLMGW_GGUF_INVALID, with the path and what is wrong, for every file that is not a whole model. */
export async function readHeader(path: string): Promise<Header> {
  const { size } = await stat(path)
  const parsed = await gguf(path, { allowLocalFile: true }).catch((error: unknown): never => {
    // the reader's own errors, its range errors on damaged files among them
    throw new LlmgwError(
      'LLMGW_GGUF_INVALID',
      { path, problem: messageOf(error) },
      { cause: error },
    )
  })
  const result = headerOf(parsed, size)
  if (!result.ok) throw new LlmgwError('LLMGW_GGUF_INVALID', { path, problem: result.problem })
  return result.header
}
