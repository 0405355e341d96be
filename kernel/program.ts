// What every program does the same way: its name, log, metrics, actors, signals, and its end.
import { type Clock, systemClock } from './clock.ts'
import { createLogger, type Logger, type LogLevel } from './log.ts'
import { createMetrics, type Metrics } from './metrics.ts'
import { type CrashReport, type DeadLetter, type System, startSystem } from './system.ts'

/** After the failure of the root the other actors may end for so long. */
const failedStopMs = 5000

/** 'SIGTERM': this program alone ends, what it started runs on and is adopted. 'SIGINT': what it started ends first. */
type EndSignal = 'SIGTERM' | 'SIGINT'

export type Context = {
  log: Logger
  clock: Clock
  metrics: Metrics
  system: System
  /** Aborts at the first signal, so that a start that still waits can give up. */
  ending: AbortSignal
}

export type Program = {
  /** As it stands in the process table. */
  name: string
  /** Of this one where several run on a machine; default: `name`. */
  instance?: string
  level?: LogLevel
  secrets?: readonly string[]
  /** Brings everything up; a throw is logged and ends the program with exit code 1. */
  start(context: Context): Promise<{
    /** Called once, at the first signal; the actors are stopped afterwards, then the exit code is 0. */
    stop(signal: EndSignal): Promise<void>
  }>
}

/**
 * Runs a program until a signal, and ends the process itself: 0 after a signal; 1 when start or stop throws, when a
 * child of the root failed past its budget, after an unhandled rejection or exception, and at the second signal.
 */
export function runProgram(program: Program): void {
  const { name, instance = name, level, secrets, start } = program
  process.title = name
  const log = createLogger({ name, ...(level && { level }), ...(secrets && { secrets }) })
  const metrics = createMetrics({ program: name, name: instance })
  const clock = systemClock
  const system = startSystem({ clock, ...hooks(log, metrics) })
  const ending = new AbortController()

  const die = (why: string, thrown: unknown) => {
    try {
      log.fatal({ err: thrown }, why)
    } finally {
      process.exit(1)
    }
  }
  process.on('uncaughtException', (error, origin) => die(`${origin}: the program ends`, error))

  const fail = (why: string, thrown: unknown) => {
    const now = () => die(why, thrown)
    clock.after(failedStopMs, now)
    system.stop().then(now, now)
  }
  const running = Promise.resolve().then(() =>
    start({ log, clock, metrics, system, ending: ending.signal }),
  )
  running.catch((thrown) => {
    if (ending.signal.aborted) log.warn({ err: thrown }, 'the start was broken off')
    else fail('the start failed', thrown)
  })
  void system.failed.then((error) => fail('an actor failed past its budget', error))

  const end = async (signal: EndSignal) => {
    log.info({ signal }, 'ending')
    const up = await running.catch(() => undefined) // told above
    await up?.stop(signal)
    await system.stop()
    log.info('ended')
    process.exit(0)
  }
  const onSignal = (signal: EndSignal) => {
    if (ending.signal.aborted) return die('a second signal', new Error(signal))
    ending.abort()
    end(signal).catch((thrown) => die('the end failed', thrown))
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
}

function hooks(log: Logger, metrics: Metrics) {
  const crashes = metrics.counter({
    name: 'llmgw_actor_crashes_total',
    help: 'Throws of actors',
    labels: ['actor', 'during'],
  })
  const lost = metrics.counter({
    name: 'llmgw_dead_letters_total',
    help: 'Messages that no actor worked on',
    labels: ['actor', 'why'],
  })
  return {
    onCrash({ error, path, during, ...rest }: CrashReport) {
      crashes.inc({ actor: path, during })
      log.error({ err: error, actor: path, during, ...rest }, 'an actor crashed')
    },
    onDeadLetter({ path, why }: DeadLetter) {
      lost.inc({ actor: path, why })
      log.debug({ actor: path, why }, 'a dead letter')
    },
  }
}
