// The log of a program: one JSON object a line on standard output, without secrets.
import { type DestinationStream, type Logger as PinoLogger, pino, stdTimeFunctions } from 'pino'
import { redacted, redactText, secretKeys } from './redact.ts'

export type Logger = PinoLogger

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'

export type LogOptions = {
  /** The program; stands in each line as `program`. */
  name: string
  /** Default 'info'; `logger.level` changes it while running. */
  level?: LogLevel
  /** Values that must not show in any line, beside those that look like secrets. */
  secrets?: readonly string[]
  /** Default: standard output, written at once. */
  destination?: DestinationStream
}

/** A secret field is found at the top and up to two levels beneath. */
const secretPaths = secretKeys.flatMap((key) => [key, `*.${key}`, `*.*.${key}`])

/** Errors are logged as `{ err }`. A part's own logger is `logger.child({ actor: NAME })`. */
export function createLogger(options: LogOptions): Logger {
  const secrets = (options.secrets ?? []).map(asInJson)
  return pino(
    {
      level: options.level ?? 'info',
      base: { program: options.name, pid: process.pid },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: secretPaths, censor },
      hooks: { streamWrite: (line) => redactText(line, secrets) },
    },
    options.destination ?? pino.destination({ dest: 1, sync: true }),
  )
}

/** Numbers are none: the token of a leadership is one. */
const censor = (value: unknown) => (typeof value === 'number' ? value : redacted)

const asInJson = (text: string) => JSON.stringify(text).slice(1, -1)
