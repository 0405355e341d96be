// Reads one line of /proc/<pid>/stat.

export type Stat = {
  /** Neither a zombie nor dead. */
  running: boolean
  group: number
  /** Start of the process in clock ticks since boot: with pid and boot id it names a process for good. */
  startTicks: number
}

/** Null where the text is not such a line. The command, which may hold spaces and brackets, ends at the last `)`. */
export function parseStat(text: string): Stat | null {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const [state = '', , group] = fields
  const startTicks = Number(fields[19])
  if (!text.includes(')') || !Number.isInteger(Number(group)) || !(startTicks >= 0)) return null
  return { running: !'ZXx'.includes(state), group: Number(group), startTicks }
}
