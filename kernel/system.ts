// The actor system of one program: the root of supervision.
import type { ChildSpec, Ref } from './actor.ts'
import { Cell, type CrashReport, type DeadLetter, type Shared } from './cell.ts'
import type { Clock } from './clock.ts'
import { startPumps } from './pump.ts'
import { spawn, stop } from './supervise.ts'

export type { CrashReport, DeadLetter } from './cell.ts'

export interface System {
  /** Starts an actor beneath the root, one-for-one. Throws if its spec is wrong, its name taken, or the system stopped. */
  spawn<S, M, E>(spec: ChildSpec<S, M, E>): Ref<M>
  /** An address for `ChildSpec.at`; it refuses until an actor of that name is started at it. */
  address<M>(name: string): Ref<M>
  /** Stops all actors, the youngest first; resolves when all is through. Harmless when repeated. */
  stop(): Promise<void>
  /** Resolves when a child of the root has failed past its budget. The program is then to end with exit code 1. */
  readonly failed: Promise<Error>
}

export type SystemOptions = {
  clock: Clock
  /** Hears each throw, and each late one of an incarnation that has ended. */
  onCrash?(report: CrashReport): void
  /** Hears each message that nobody will work on. */
  onDeadLetter?(letter: DeadLetter): void
}

export function startSystem(options: SystemOptions): System {
  let fail: (error: Error) => void = () => {}
  const failed = new Promise<Error>((resolve) => {
    fail = resolve
  })
  let uids = 0
  let stopping: Promise<void> | undefined
  const shared: Shared = {
    clock: options.clock,
    pumps: startPumps((thrown) => fail(new Error('the kernel is broken', { cause: thrown }))),
    roots: [],
    nextUid: (name) => `${name}#${++uids}`,
    onCrash: (report) => harmlessly(() => options.onCrash?.(report)),
    onDeadLetter: (letter) => harmlessly(() => options.onDeadLetter?.(letter)),
    fail,
  }
  return {
    spawn: <S, M, E>(spec: ChildSpec<S, M, E>): Ref<M> => {
      if (stopping !== undefined)
        throw new Error(`the system has stopped: ${spec.name} cannot be started`)
      return spawn(spec, shared).ref
    },
    address: <M>(name: string): Ref<M> => new Cell(name, shared).ref,
    stop: () => (stopping ??= stopAll(shared)),
    failed,
  }
}

async function stopAll(shared: Shared): Promise<void> {
  for (const cell of shared.roots.toReversed()) await stop(cell)
  shared.pumps.stop()
}

/** What a hook throws must not become the fault of the actor that it reports on. */
function harmlessly(hook: () => void): void {
  try {
    hook()
  } catch (thrown) {
    process.emitWarning(`a hook of the actor system threw: ${String(thrown)}`)
  }
}
