// What the watcher of a node's hardware says, and what its own effects tell it; nobody commands it.
import type { Hardware, Load } from '../../../transport/contract/hardware.ts'

/** Told by this actor's own effects. */
export type Message =
  | { type: 'probed'; hardware: Hardware }
  | { type: 'unprobed'; reason: string }
  | { type: 'sampled'; load: Load }
  | { type: 'unsampled'; reason: string }
  | { type: 'due' }

/** To its owner: the hardware once, the load every second. A load that cannot be read is not told. */
export type Event = { type: 'hardware'; hardware: Hardware } | { type: 'load'; load: Load }
