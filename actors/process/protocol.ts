// What may be said to the keeper of one operating-system process, and what it says.

/** How a process is started and stopped; the whole of it stands in its run record. */
export type ProcessSpec = {
  name: string
  /** Absolute path of the program, and its arguments. No secrets: they show in the process table. */
  argv: readonly string[]
  /** The whole environment; the keeper adds only its own marker. */
  env: Readonly<Record<string, string>>
  cwd: string
  /** Signals with the delay after the first, in milliseconds; sent to the group, or to the process alone. */
  stop: readonly { signal: NodeJS.Signals; afterMs: number; to: 'group' | 'process' }[]
}
