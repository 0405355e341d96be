// What may be said to the keeper of accounts, and what it keeps of scopes and keys.
import { z } from 'zod'
import type { KeyView } from '../../../transport/contract/admin.ts'
import type { Outcome } from '../../../transport/contract/envelope.ts'
import { tokenSchema } from '../../../transport/contract/names.ts'
import { routedKeySchema } from '../../../transport/contract/route.ts'

/** A place in the tree of who uses the cluster, kept under `scope.<id>`. */
export const scopeSchema = z.object({
  id: tokenSchema,
  kind: z.enum(['cluster', 'organization', 'team', 'project', 'person']),
  /** Null for the whole cluster. */
  parent: tokenSchema.nullable(),
})
export type Scope = z.infer<typeof scopeSchema>

/** The scope that holds all others. */
export const rootScope: Scope = { id: 'cluster', kind: 'cluster', parent: null }

/** A key as kept under `key.<id>`: its digest, never the key. */
export const keyRecordSchema = routedKeySchema.extend({
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  /** Milliseconds since 1970. */
  createdAt: z.number().int().nonnegative(),
})
export type KeyRecord = z.infer<typeof keyRecordSchema>

export type Command =
  | {
      type: 'create'
      name: string
      /** Absent: the whole cluster. */
      scope: string | undefined
      at: number
      replyTo: (outcome: Outcome<{ key: KeyView; secret: string }>) => void
    }
  | { type: 'list'; replyTo: (outcome: Outcome<{ keys: KeyView[] }>) => void }
  | { type: 'revoke'; id: string; replyTo: (outcome: Outcome<{ done: true }>) => void }

export type Fact =
  | {
      type: 'loaded'
      scopes: readonly Scope[]
      keys: readonly KeyRecord[]
      /** Digests that the routers' bucket holds. */
      routed: readonly string[]
    }
  | { type: 'unloaded'; reason: string }
  /** A key was made and is stored; its secret went to whoever asked. */
  | { type: 'created'; key: KeyRecord }
  | { type: 'unstored'; reason: string }

export type Message = Command | Fact
