// What may be said to the installer of a node's engines, and what it says.
import type { Failure } from '../../../kernel/errors.ts'
import type { Install, Progress } from '../../../transport/contract/node.ts'

export type Command =
  /** Asks for an engine; it is installed once however many ask. Each asker is told progress, then `ready` or `failed` exactly once. */
  | { type: 'ensure'; engine: string; replyTo: (event: ProvisionEvent) => void }
  /** The engine's present build loaded a model: it is good for this machine. */
  | { type: 'proved'; engine: string }
  /** The engine's present build cannot run on this machine; it is not used again. */
  | { type: 'refused'; engine: string; reason: string }

export type ProvisionEvent =
  | { type: 'progress'; progress: Progress }
  | { type: 'ready'; engine: string; version: string; argv: Argv }
  | { type: 'failed'; failure: Failure }

/** A program and its leading arguments; those of a start follow. */
export type Argv = readonly [program: string, ...leading: string[]]

/** A build that can be started. */
export type Ready = {
  version: string
  argv: Argv
  /** Why this form and not an earlier one of the description; null for the first. */
  note: string | null
}

/** What is remembered of a build over restarts; the later of an engine's builds is the one in use. */
export type Verdict = {
  engine: string
  version: string
  state: 'unproven' | 'proven' | 'refused'
  reason: string | null
}

/** Told by this actor's own effects. */
export type Fact =
  | { type: 'recalled'; verdicts: readonly Verdict[] }
  | { type: 'unrecalled'; reason: string }
  | { type: 'progressed'; engine: string; attempt: number; progress: Progress }
  | { type: 'installed'; engine: string; attempt: number; ready: Ready }
  | { type: 'missed'; engine: string; attempt: number; failure: Failure }

export type Message = Command | Fact

/** To its owner: the whole list, at start and whenever it changes. */
export type Event = { type: 'changed'; installs: readonly Install[] }
