// What a new instance is given so that it can be used at once: a small model and a key.
import { existsSync, readFileSync } from 'node:fs'
import { z } from 'zod'
import { present } from '../../../kernel/assert.ts'
import { writeWhole } from '../../../transport/durable-file.ts'
import type { Admin } from '../../admin.ts'
import { definitionOf } from '../../definition.ts'
import { type Layout, type Memory, readMemory, writeMemory } from '../../instance.ts'

/** The preset that a new instance serves unless --model names another source. */
const firstModel = 'smollm2-135m'

/** What somebody needs to use the instance. */
export const infoSchema = z.object({
  /** Ends in `/v1`. */
  endpoint: z.string(),
  key: z.string(),
  model: z.string().nullable(),
  dir: z.string(),
})
export type Info = z.infer<typeof infoSchema>

/**
 * The model to ask: the one named, added if it is missing; else the one from before.
 * The first model is added once: who removed it does not find it back. Null where nothing is served.
 */
export async function seedModel(
  paths: Layout,
  admin: Admin,
  source: string | undefined,
): Promise<{ name: string; added: boolean } | null> {
  const memory = remembered(paths)
  const { models } = await admin.ask('models-list', {})
  const has = (name: string | null): boolean => models.some((it) => it.definition.name === name)
  if (source === undefined && memory.seeded) {
    const name = has(memory.model) ? memory.model : (models[0]?.definition.name ?? null)
    return name === null ? null : { name, added: false }
  }
  const definition = definitionOf(source ?? firstModel, {})
  const added = !has(definition.name)
  if (added) await admin.ask('models-add', { definition })
  writeMemory(paths, { ...memory, seeded: true, model: definition.name })
  return { name: definition.name, added }
}

/** Takes back what was added and cannot be served, so that the next start begins as this one did. */
export async function unseedModel(paths: Layout, admin: Admin, before: Memory): Promise<void> {
  const { model, ...now } = remembered(paths)
  if (model !== null) await admin.ask('models-remove', { model })
  writeMemory(paths, { ...now, seeded: before.seeded, model: before.model })
}

/** The key of the instance's owner, in a file of mode 0600; made anew where it was revoked or lost. */
export async function seedKey(paths: Layout, admin: Admin): Promise<string> {
  const memory = remembered(paths)
  const { keys } = await admin.ask('keys-list', {})
  if (existsSync(paths.apiKey) && keys.some((it) => it.id === memory.keyId)) return readKey(paths)
  const { key, secret } = await admin.ask('keys-create', { name: 'owner' })
  writeWhole(paths.apiKey, `${secret}\n`)
  writeMemory(paths, { ...memory, keyId: key.id })
  return secret
}

const readKey = (paths: Layout): string => readFileSync(paths.apiKey, 'utf8').trim()

export function infoOf(paths: Layout, key: string | null, model: string | null): Info {
  const { host, port } = remembered(paths)
  return {
    endpoint: `http://${host.includes(':') ? `[${host}]` : host}:${port}/v1`,
    key: key ?? readKey(paths),
    model,
    dir: paths.dir,
  }
}

export const remembered = (paths: Layout): Memory => present(readMemory(paths), paths.memory)
