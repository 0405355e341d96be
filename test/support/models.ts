// Definitions of models for tests.
import type { Header, Model } from '../../transport/contract/model.ts'
import { smallHeader } from './simulated-node.ts'

/** A definition of a file that lies somewhere; `header: null` leaves the header to be read. */
export const modelOf = (
  name = 'small',
  more: Omit<Partial<Model>, 'header'> & { header?: Header | null } = {},
): Model => {
  const { header = smallHeader, ...rest } = more
  return {
    name,
    engine: 'llamacpp',
    artifact: {
      name: name.replaceAll(/[^A-Za-z0-9._-]/g, '-'),
      version: '1',
      platform: 'any',
      licence: 'Apache-2.0',
      fileName: 'model.gguf',
      executable: false,
      sources: [{ kind: 'https', url: 'https://models.invalid/model.gguf' }],
    },
    profile: {},
    replicas: 1,
    ...(header === null ? {} : { header }),
    ...rest,
  }
}
