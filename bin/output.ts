// How verbs speak: lines of progress, tables, sizes and durations, on the right stream.
import Table from 'cli-table3'
import type { Progress } from '../transport/contract/node.ts'

/** The only writers of the terminal: answers go to stdout, progress and errors to stderr. */
export const out = (text: string): void => void process.stdout.write(`${text}\n`)
export const err = (text: string): void => void process.stderr.write(`${text}\n`)

/** How much of something long is done may change many times a second; it is said this often. */
const detailEveryMs = 2_000

/**
 * Prints a line of progress once, and again only when its text has changed. `detail`, how much is
 * done, is put behind the text, and its changes alone are told every two seconds.
 */
export function progress(
  write: (line: string) => void,
  now: () => number = () => performance.now(),
): (subject: string, text: string, detail?: string) => void {
  const last = new Map<string, { text: string; detail: string; at: number }>()
  return (subject, text, detail = '') => {
    const before = last.get(subject)
    const isSame = before?.text === text
    if (isSame && (before.detail === detail || now() - before.at < detailEveryMs)) return
    last.set(subject, { text, detail, at: now() })
    write(`${subject}: ${text}${detail}`)
  }
}

/** A plain table, its columns as wide as their widest cell. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const empty = Object.fromEntries(
    ['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left']
      .concat(['bottom-right', 'left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid'])
      .map((part) => [part, '']),
  )
  const it = new Table({
    head: [...head],
    chars: { ...empty, middle: '  ' },
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  })
  for (const row of rows) it.push([...row])
  return it
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')
}

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']

/** A size as people read it: 1536 → "1.5 KiB". */
export function size(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(Math.floor(Math.log2(bytes) / 10), units.length - 1)
  const value = bytes / 1024 ** power
  return `${value >= 100 || power === 0 ? Math.round(value) : value.toFixed(1)} ${units[power]}`
}

/** A duration as people read it: 65000 → "1 min 5 s". */
export function duration(ms: number): string {
  const seconds = Math.round(ms / 1000)
  if (seconds < 60) return ms < 10_000 ? `${(ms / 1000).toFixed(1)} s` : `${seconds} s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`
}

/** "1 model", "2 models". */
export const count = (number: number, noun: string): string =>
  `${number} ${noun}${number === 1 ? '' : 's'}`

/** What has been done of something long: " (12 MiB of 88 MiB, 9.1 MiB/s, 8.3 s left)". */
export function tail(progress: Progress | null): string {
  if (progress?.doneBytes === null || progress?.doneBytes === undefined) return ''
  const { doneBytes, totalBytes, bytesPerSecond } = progress
  const parts = [
    totalBytes === null ? size(doneBytes) : `${size(doneBytes)} of ${size(totalBytes)}`,
    ...(bytesPerSecond === null ? [] : [`${size(bytesPerSecond)}/s`]),
    ...(totalBytes === null || !bytesPerSecond
      ? []
      : [`${duration((1000 * Math.max(0, totalBytes - doneBytes)) / bytesPerSecond)} left`]),
  ]
  return ` (${parts.join(', ')})`
}
