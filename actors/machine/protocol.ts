// What may be said to the supervisor of one machine's programs, and what it says.
import type { Event } from '../process/protocol.ts'

/** Ends all programs in reverse order, one after the other. */
export type Command = { type: 'stop' }

export type Fact =
  | { type: 'said'; program: string; event: Event }
  | { type: 'due'; program: string }
export type Message = Command | Fact

/** To whoever started the machine. */
export type MachineEvent =
  | { type: 'running'; program: string; pid: number }
  | { type: 'restarting'; program: string; reason: string }
  /** Past its restart budget; it is started anew after a pause. */
  | { type: 'failed'; program: string; reason: string }
  | { type: 'ended'; program: string }
  /** All programs have ended. */
  | { type: 'stopped' }
