// What may be said to the keeper of one operating-system process, and what it says.

/** By number, so that no account needs to be there. */
export type User = { uid: number; gid: number }

/** How a process is started and stopped; the whole of it stands in its run record. */
export type ProcessSpec = {
  name: string
  /** Absolute path of the program, and its arguments. No secrets: they show in the process table. */
  argv: readonly string[]
  /** The whole environment; the keeper adds only its own marker. */
  env: Readonly<Record<string, string>>
  cwd: string
  /** Whom it runs as: without other groups, and unable to gain rights. Only root can give it; without it, it runs as the keeper's user. */
  user?: User
  /** Signals with the delay after the first, in milliseconds; sent to the group, or to the process alone. */
  stop: readonly { signal: NodeJS.Signals; afterMs: number; to: 'group' | 'process' }[]
}

/** Anyone sends commands. A second one that changes nothing is safe. */
export type Command =
  /** Starts the process unless one runs, whatever its spec: the owner compares what `running` tells and stops first to replace. After a stop it starts once that has ended. */
  | { type: 'start'; spec: ProcessSpec }
  /** Ends the process by the signals `by`, else by its own spec's; answered by `stopped`, also where nothing runs. */
  | { type: 'stop'; by?: ProcessSpec['stop'] }

/** How a process ended. `code` is the exit code, 128 and the signal's number after a signal, null where nobody saw it. */
export type Exit = { code: number | null; reason: string }

/** Told by this actor's own effects; `attempt` says which launch it is about. */
export type Fact =
  | { type: 'found'; spec: ProcessSpec; pid: number }
  | { type: 'none' }
  | { type: 'unknown'; reason: string }
  | { type: 'due'; attempt: number }
  | { type: 'started'; attempt: number; pid: number }
  | { type: 'ended'; attempt: number; exit: Exit; at: number }

export type Message = Command | Fact

/** To its owner. */
export type Event =
  /** The look is over and nothing runs; not said where a start was waiting for the look. */
  | { type: 'absent' }
  /** `spec` is what runs, which an adopted process brings along. */
  | { type: 'running'; pid: number; spec: ProcessSpec; adopted: boolean }
  | { type: 'restarting'; exit: Exit; reason: string; delayMs: number }
  /** Past its restart budget; another `start` begins with a new one. */
  | { type: 'failed'; exit: Exit; reason: string }
  | { type: 'stopped' }
