// The handle that an incarnation has of itself and of the world; it dies with the incarnation.
import type { ChildSpec, End, Ref, Self } from './actor.ts'
import { ask } from './ask.ts'
import { Cell, cellOf, type Incarnation, registerHandle, type Shared } from './cell.ts'
import type { AnySpec } from './child-spec.ts'
import type { Crash } from './life.ts'

/** What a Self asks of supervision. */
export interface Supervision {
  spawn(spec: AnySpec, shared: Shared, parent: Cell): Cell
  stopChild(child: Cell, parent: Cell): Promise<void>
  end(life: Incarnation): void
  crash: Crash
}

export function makeSelf(life: Incarnation, supervision: Supervision): Self<unknown> {
  const { cell } = life
  const { clock } = cell.shared
  const self: Self<unknown> = {
    name: cell.name,
    uid: life.uid,
    tell: (message) => life.live && cell.tellOwn(message),
    after(delayMs, message) {
      if (!life.live) return
      const cancel = clock.after(delayMs, () => {
        life.ties.delete(cancel)
        cell.force(message)
      })
      life.ties.add(cancel)
    },
    now: () => clock.monotonicMs(),
    spawn: <S, M, E>(spec: ChildSpec<S, M, E>): Ref<M> =>
      // a late callback gets an address that refuses, like every other of a dead actor
      life.live
        ? supervision.spawn(spec, cell.shared, cell).ref
        : new Cell(spec.name, cell.shared).ref,
    async stop(ref) {
      const child = cellOf(ref)
      if (!life.live) return life.retired
      if (child?.parent === cell) return supervision.stopChild(child, cell)
      supervision.crash(life, new Error(`${ref.name} is no child of ${cell.path}`), 'perform')
    },
    end: () => supervision.end(life),
    watch: (ref, toMessage) => watch(life, ref, guarded(life, toMessage, supervision.crash)),
    ask(to, make, withinMs, toMessage, signal) {
      if (!life.live) return
      const deliver = guarded(life, toMessage, supervision.crash)
      ask(life, { to, make, withinMs, signal, deliver })
    },
  }
  registerHandle(self, cell)
  return self
}

/** Makes the message that the kernel owes this incarnation and hands it over; a throw is the actor's crash. */
function guarded<T>(
  life: Incarnation,
  toMessage: (value: T) => unknown,
  crash: Crash,
): (value: T) => void {
  return (value) => {
    if (!life.live) return
    try {
      life.cell.force(toMessage(value))
    } catch (thrown) {
      crash(life, thrown, 'message')
    }
  }
}

function watch(life: Incarnation, ref: Ref<never>, tellEnd: (end: End) => void): void {
  if (!life.live) return
  const target = cellOf(ref)
  if (!target || target.end) {
    tellEnd(target?.end ?? { uid: ref.uid, reason: 'unknown' })
    return
  }
  const watcher = (end: End) => {
    life.ties.delete(untie)
    tellEnd(end)
  }
  const untie = () => target.watchers.delete(watcher)
  target.watchers.add(watcher)
  life.ties.add(untie)
}
