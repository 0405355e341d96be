// Starts, restarts and stops actors and all beneath them, by the rules of docs/supervision.md.
import type { End } from './actor.ts'
import {
  type Cell,
  cellFor,
  type During,
  type Incarnation,
  type Next,
  type Shared,
} from './cell.ts'
import { type AnySpec, checkSpec } from './child-spec.ts'
import { type Crash, Life } from './life.ts'
import { isRestarted, type Reason, spend } from './restart.ts'
import { makeSelf } from './self.ts'

/** Checks, binds and starts an actor; without a parent beneath the root. Throws if its spec is wrong or its name taken. */
export function spawn(spec: AnySpec, shared: Shared, parent?: Cell): Cell {
  checkSpec(spec, parent?.path ?? '')
  const siblings = parent?.dynamics ?? shared.roots
  if ([...siblings, ...(parent?.have.statics ?? [])].some((cell) => isTaken(cell, spec.name))) {
    throw new Error(`child ${parent?.path ?? ''}/${spec.name}: name is that of another child`)
  }
  const cell = cellFor(spec, shared)
  cell.bind(spec, parent)
  siblings.push(cell)
  start(cell)
  return cell
}

const isTaken = (cell: Cell, name: string) => cell.name === name && cell.phase !== 'ended'

/** Stops an actor for good, children first and in reverse; resolves when all is through. Harmless when repeated. */
export const stop = (cell: Cell): Promise<void> =>
  halt(cell, () => finish(cell, { uid: cell.uid, reason: 'stopped' }))

/** Stops a child at its parent's wish; younger siblings that waited for its restart go on. */
async function stopChild(child: Cell, parent: Cell): Promise<void> {
  await stop(child)
  startIdle(parent)
}

/** Ends an incarnation of its own will. */
function end(life: Incarnation): void {
  if (!life.live) return
  const next = nextAfter(life.cell, 'ended')
  const error = new Error(`${life.cell.path} ended although its restart type is permanent`)
  if (next !== 'ends') report(life, error, 'end', next)
  leave(life, next, next === 'ends' ? { uid: life.uid, reason: 'stopped' } : failed(life, error))
}

/** Ends an incarnation that threw; about one that has ended already it is only reported. */
const crash: Crash = (life, thrown, during, of) => {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown))
  const next = life.live ? nextAfter(life.cell, 'crashed') : 'none'
  report(life, error, during, next, of)
  if (life.live) leave(life, next, failed(life, error))
}

const failed = (life: Incarnation, error: Error): End => ({
  uid: life.uid,
  reason: 'failed',
  error,
})

function report(life: Incarnation, error: Error, during: During, next: Next, of?: string): void {
  const { cell, uid } = life
  cell.shared.onCrash({ path: cell.path, uid, during, ...(of && { of }), error, next })
}

function nextAfter(cell: Cell, reason: Reason): Next {
  const { spec, budget } = cell.have
  if (!isRestarted(spec.restart, reason)) return 'ends'
  const grant = spend(budget, cell.shared.clock.monotonicMs())
  if (!grant) return 'fails-parent'
  cell.have.budget = grant.budget
  return { restartInMs: grant.delayMs }
}

function start(cell: Cell): void {
  const life = new Life(cell, (own) => makeSelf(own, { spawn, stopChild, end, crash }), crash)
  cell.uid = life.uid
  cell.life = life
  cell.phase = 'running'
  for (const child of cell.have.statics) child.revive()
  life.begin(() => startIdle(cell))
  cell.wake()
}

/** Static children that are to run but do not, in order; by rest-for-one not past one that is still to come back. */
function startIdle(parent: Cell): void {
  for (const child of parent.have.statics) {
    if (!parent.life?.live) return
    if (child.phase === 'idle') start(child)
    if (isRestForOne(parent) && isComingBack(child)) return
  }
}

const isRestForOne = (parent: Cell) => parent.have.spec.strategy === 'rest-for-one'
const isComingBack = ({ phase, life }: Cell) =>
  phase === 'waiting' || (phase === 'retiring' && !life?.halted && life?.next !== 'ends')

function leave(life: Incarnation, next: Next, last: End): void {
  life.live = false
  life.next = next
  life.cell.phase = 'retiring'
  for (const untie of life.ties) untie()
  life.ties.clear()
  life.cell.have.mailbox.forgetOwn()
  life.retired = retire(life)
  life.retired.then(() => follow(life, last)).catch(life.cell.shared.fail)
}

async function retire(life: Incarnation): Promise<void> {
  const { cell } = life
  await null // what runs now, an effect of this very actor, comes to its end first
  for (const child of cell.dynamics.toReversed()) await stop(child)
  for (const child of cell.have.statics.toReversed()) await rest(child)
  await life.close()
}

/** After the end of an incarnation: the restart, the final end, or the failure of the parent. */
async function follow(life: Incarnation, last: End): Promise<void> {
  const { cell, next } = life
  if (life.halted) return
  if (typeof next === 'object') return restart(life, next.restartInMs)
  finish(cell, last)
  if (next !== 'fails-parent') return
  const { intensity, periodMs } = cell.have.spec
  const problem = `${cell.path} failed more than ${intensity} times within ${periodMs} ms`
  const error = new Error(`${problem}: ${last.error?.message}`, { cause: last.error })
  if (!cell.parent) cell.shared.fail(error)
  else if (cell.parent.life) crash(cell.parent.life, error, 'child')
}

async function restart(life: Incarnation, delayMs: number): Promise<void> {
  const { cell } = life
  const { parent } = cell
  if (parent && isRestForOne(parent)) {
    await haltYounger(cell, parent)
    if (life.halted) startIdle(parent) // stopped meanwhile: they wait for nobody
  }
  if (life.halted) return
  cell.life = undefined
  cell.phase = 'waiting'
  cell.cancelRestart = cell.shared.clock.after(delayMs, () => {
    cell.phase = 'idle'
    if (parent && !parent.life?.live) return // it is about to stop this one too
    start(cell)
    if (parent) startIdle(parent)
  })
}

/** Stops the static siblings after this one, to be started again with it; but temporary ones never start twice. */
async function haltYounger(cell: Cell, parent: Cell): Promise<void> {
  const { statics } = parent.have
  const index = statics.indexOf(cell)
  if (index < 0) return
  const younger = statics.slice(index + 1)
  for (const sibling of younger.toReversed()) {
    if (!isTemporary(sibling)) await rest(sibling)
    else if (sibling.phase !== 'idle') await stop(sibling)
  }
  if (!parent.life?.live) return
  for (const sibling of younger) {
    if (sibling.phase === 'ended' && !isTemporary(sibling)) sibling.revive()
  }
}

const isTemporary = (cell: Cell) => cell.have.spec.restart === 'temporary'

/** Ends the incarnation of now, if there is one, and takes back a restart that was due; `then` runs at once after it. */
async function halt(cell: Cell, then: () => void): Promise<void> {
  cell.cancelRestart()
  const { life } = cell
  if (life) {
    life.halted = true
    if (life.live) leave(life, 'none', { uid: life.uid, reason: 'stopped' })
    await life.retired
    if (cell.life === life) cell.life = undefined
  }
  then()
}

/** Ends it to be started again. */
const rest = (cell: Cell): Promise<void> =>
  halt(cell, () => {
    if (cell.phase !== 'ended') cell.phase = 'idle'
  })

function finish(cell: Cell, last: End): void {
  if (cell.phase === 'ended') return
  for (const child of cell.have.statics.toReversed()) {
    finish(child, { uid: child.uid, reason: 'stopped' })
  }
  const siblings = cell.parent?.dynamics ?? cell.shared.roots
  const index = siblings.indexOf(cell)
  if (index >= 0) siblings.splice(index, 1)
  cell.finish(last)
}
