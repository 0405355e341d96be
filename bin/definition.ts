// A model's definition out of what an operator names on the command line.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { parse } from 'yaml'
import { presets } from '../engines/presets/index.ts'
import { LlmgwError, messageOf } from '../kernel/errors.ts'
import type { Artifact, Source } from '../transport/contract/artifact.ts'
import { type Model, modelSchema } from '../transport/contract/model.ts'
import { firstIssue } from '../transport/contract/problem.ts'

/** What may be said of a model besides its source; absent is left to llmgw. */
export type Wishes = {
  name?: string | undefined
  contextTokens?: number | undefined
  slots?: number | undefined
  cores?: number | undefined
  memoryBytes?: number | undefined
  replicas?: number | undefined
  sha256?: string | undefined
}

/** A definition from a preset's name, an https address or the path of a GGUF file. */
export function definitionOf(source: string, wishes: Wishes): Model {
  const preset = presets.find((it) => it.name === source)
  const base = preset ?? {
    engine: 'llamacpp',
    name: nameOf(source),
    artifact: artifactOf(source, wishes),
  }
  const { name, replicas, sha256: _, ...profile } = wishes
  return checked({
    ...base,
    name: name ?? base.name,
    ...(replicas === undefined ? {} : { replicas }),
    profile: { ...preset?.profile, ...withoutAbsent(profile) },
  })
}

/** A definition from a YAML or JSON file. */
export function definitionFrom(file: string): Model {
  try {
    return checked(parse(readFileSync(file, 'utf8')))
  } catch (error) {
    if (error instanceof LlmgwError) throw error
    throw new LlmgwError('LLMGW_DEFINITION_INVALID', { field: file, problem: messageOf(error) })
  }
}

function checked(definition: unknown): Model {
  const parsed = modelSchema.safeParse(definition)
  if (parsed.success) return parsed.data
  throw new LlmgwError('LLMGW_DEFINITION_INVALID', firstIssue(parsed.error))
}

function artifactOf(address: string, { sha256 }: Wishes): Artifact {
  const web = /^https?:\/\//.test(address)
  if (!web && !/\.gguf$/i.test(address)) {
    throw new LlmgwError('LLMGW_DEFINITION_INVALID', {
      field: 'source',
      problem: `"${address}" is neither a preset (${presets.map((it) => it.name).join(', ')}) nor an https address nor the path of a .gguf file`,
    })
  }
  const source: Source = web
    ? { kind: 'https', url: address }
    : { kind: 'path', path: resolve(address) }
  return {
    name: nameOf(address),
    // Two files of one name at two addresses are two artifacts.
    version: createHash('sha256')
      .update(web ? address : resolve(address))
      .digest('hex')
      .slice(0, 12),
    platform: 'any',
    licence: 'unknown',
    fileName: `${nameOf(address)}.gguf`,
    executable: false,
    ...(sha256 === undefined ? {} : { sha256 }),
    sources: [source],
  }
}

const nameOf = (address: string): string =>
  basename(/^https?:/.test(address) ? pathOf(address) : address)
    .replace(/\.gguf$/i, '')
    .replace(/[^A-Za-z0-9._-]/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '') || 'model'

const pathOf = (address: string): string => {
  try {
    return new URL(address).pathname
  } catch (error) {
    throw new LlmgwError('LLMGW_DEFINITION_INVALID', {
      field: 'source',
      problem: `"${address}": ${messageOf(error)}`,
    })
  }
}

const withoutAbsent = <T extends object>(it: T): Partial<T> =>
  Object.fromEntries(Object.entries(it).filter(([, value]) => value !== undefined)) as Partial<T>
