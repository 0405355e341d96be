// What may be said to the keeper of keys, and what it publishes.
import type { RoutedKey } from '../../../transport/contract/route.ts'
import type { Mirrored } from '../table/protocol.ts'

/** `revoked` comes besides the mirror's `deleted`, so that no revoked key works until the mirror has caught up. */
export type Message = Mirrored | { type: 'revoked'; sha256: string }

/** Keys by the SHA-256 of their secret; never changed, only replaced. */
export type KeysSnapshot = ReadonlyMap<string, RoutedKey>
