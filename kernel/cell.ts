// One actor as the kernel keeps it: its address and mailbox for good, and the incarnation of now.
import type { End, Ref } from './actor.ts'
import type { AnySpec } from './child-spec.ts'
import type { Clock } from './clock.ts'
import { Mailbox } from './mailbox.ts'
import type { Pump, Pumps } from './pump.ts'
import { type Budget, newBudget } from './restart.ts'

/**
 *   unbound ─ bind ─> idle ─ start ─> running ─ crash, end, stop ─> retiring ─> idle, waiting or ended
 *   waiting ─ the delay is over ─> running      ended ─ its parent starts anew ─> idle
 */
export type Phase = 'unbound' | 'idle' | 'running' | 'retiring' | 'waiting' | 'ended'

/** What an actor was at when it threw: a method of its behaviour, the making of a message, or a child's failure. */
export type During = 'init' | 'transition' | 'perform' | 'message' | 'child' | 'stopped' | 'end'

/** What follows the end of an incarnation. 'none': it had ended before, this came late. */
export type Next = { restartInMs: number } | 'ends' | 'fails-parent' | 'none'

export type CrashReport = {
  /** From the root, with slashes. */
  path: string
  uid: string
  during: During
  /** The type of the message or effect, where it has one; never its content. */
  of?: string
  error: Error
  next: Next
}

export type DeadLetter = {
  path: string
  message: unknown
  /** 'dropped': for a newer one, by drop-oldest. */
  why: 'full' | 'gone' | 'dropped'
}

/** What all cells of one system share. The hooks never throw. */
export interface Shared {
  readonly clock: Clock
  readonly pumps: Pumps
  /** The children of the root. */
  readonly roots: Cell[]
  nextUid(name: string): string
  onCrash(report: CrashReport): void
  onDeadLetter(letter: DeadLetter): void
  /** A root child failed past its budget, or the kernel itself is broken. */
  fail(error: Error): void
}

/** One life of an actor. */
export interface Incarnation {
  readonly cell: Cell
  readonly uid: string
  live: boolean
  next: Next
  /** Its supervisor stops it: whatever `next` says, nothing follows. */
  halted: boolean
  /** Resolves when its children and its own `stopped` are through. */
  retired: Promise<void>
  /** Timers, watches and asks: called, and gone, at its end. */
  readonly ties: Set<() => void>
  /** One message: the transition, then its effects in order. Never throws. */
  receive(message: unknown): void
  /** The behaviour's `stopped`, if init had answered. Never rejects. */
  close(): Promise<void>
}

const cells = new WeakMap<object, Cell>()

/** The cell behind an address or a Self; undefined if no kernel made it. */
export const cellOf = (handle: object): Cell | undefined => cells.get(handle)

/** Makes `handle` stand for the cell too. */
export const registerHandle = (handle: object, cell: Cell): void => {
  cells.set(handle, cell)
}

export class Cell {
  readonly name: string
  readonly shared: Shared
  readonly ref: Ref<unknown>
  readonly watchers = new Set<(end: End) => void>()
  phase: Phase = 'unbound'
  uid = ''
  parent: Cell | undefined
  /** Undefined while waiting, idle and ended. */
  life: Incarnation | undefined
  /** Undefined until the final end. */
  end: End | undefined
  dynamics: Cell[] = []
  cancelRestart: () => void = () => {}
  #bound: { spec: AnySpec; mailbox: Mailbox; statics: readonly Cell[]; budget: Budget } | undefined
  #pump: Pump | undefined

  constructor(name: string, shared: Shared) {
    this.name = name
    this.shared = shared
    const uid = () => this.uid
    this.ref = {
      name,
      get uid() {
        return uid()
      },
      tell: (message) => this.#tell(message),
    }
    registerHandle(this.ref, this)
  }

  get path(): string {
    return `${this.parent?.path ?? ''}/${this.name}`
  }

  /** Throws before `bind`. */
  get have(): { spec: AnySpec; mailbox: Mailbox; statics: readonly Cell[]; budget: Budget } {
    if (!this.#bound) throw new Error(`nothing was started at the address ${this.name} yet`)
    return this.#bound
  }

  /** Takes its spec and its place: from now on messages wait for the start, its static children's too. */
  bind(spec: AnySpec, parent: Cell | undefined): void {
    this.parent = parent
    const statics = (spec.children ?? []).map((child) => {
      const cell = cellFor(child, this.shared)
      cell.bind(child, this)
      return cell
    })
    const mailbox = new Mailbox(spec.capacity, spec.overflow)
    this.#bound = { spec, mailbox, statics, budget: newBudget(spec) }
    this.revive()
  }

  /** As before the first start; an ended one can be started again. */
  revive(): void {
    this.phase = 'idle'
    this.end = undefined
    this.have.budget = newBudget(this.have.spec)
  }

  /** From the actor's own effects. */
  tellOwn(message: unknown): boolean {
    if (!this.have.mailbox.pushOwn(message)) return this.#refuse(message, 'full')
    this.wake()
    return true
  }

  /** From the kernel, to the incarnation of now: always taken. */
  force(message: unknown): void {
    this.have.mailbox.force(message)
    this.wake()
  }

  wake(): void {
    if (this.phase !== 'running' || this.have.mailbox.length === 0) return
    this.#pump ??= this.shared.pumps.add(() => this.#work())
    this.#pump.wake()
  }

  /** The final end: what is left in the mailbox are dead letters, and the watchers hear of it. */
  finish(end: End): void {
    this.phase = 'ended'
    this.life = undefined
    this.end = end
    this.#pump?.stop()
    this.#pump = undefined
    for (let letter = this.have.mailbox.shift(); letter; letter = this.have.mailbox.shift()) {
      this.#refuse(letter.message, 'gone')
    }
    const watchers = [...this.watchers]
    this.watchers.clear()
    for (const watcher of watchers) watcher(end)
  }

  #tell(message: unknown): boolean {
    if (this.phase === 'unbound' || this.phase === 'ended') return this.#refuse(message, 'gone')
    const taken = this.have.mailbox.push(message)
    if (taken === 'full') return this.#refuse(message, 'full')
    if (taken !== 'taken') this.#refuse(taken.dropped, 'dropped')
    this.wake()
    return true
  }

  #refuse(message: unknown, why: DeadLetter['why']): false {
    this.shared.onDeadLetter({ path: this.path, message, why })
    return false
  }

  #work(): boolean {
    if (this.phase !== 'running') return false
    const letter = this.have.mailbox.shift()
    if (letter) this.life?.receive(letter.message)
    return this.phase === 'running' && this.have.mailbox.length > 0
  }
}

/** The cell of the address that the spec brings, or a new one. Throws if that address cannot be its. */
export function cellFor(spec: AnySpec, shared: Shared): Cell {
  if (!spec.at) return new Cell(spec.name, shared)
  const cell = cellOf(spec.at)
  if (!cell || cell.shared !== shared || cell.name !== spec.name) {
    throw new Error(`child ${spec.name}: at must be made by this system's address('${spec.name}')`)
  }
  if (cell.phase !== 'unbound' && cell.phase !== 'ended') {
    throw new Error(`child ${spec.name}: at must be an address where nothing runs`)
  }
  return cell
}
