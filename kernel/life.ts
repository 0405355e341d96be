// One incarnation of an actor: runs its behaviour and lets no exception out.
import type { Self } from './actor.ts'
import type { Cell, During, Incarnation, Next } from './cell.ts'
import type { Step } from './step.ts'

/** Hears what a behaviour threw. */
export type Crash = (life: Incarnation, thrown: unknown, during: During, of?: string) => void

export class Life implements Incarnation {
  readonly cell: Cell
  readonly uid: string
  live = true
  next: Next = 'none'
  halted = false
  retired: Promise<void> = Promise.resolve()
  readonly ties = new Set<() => void>()
  readonly #self: Self<unknown>
  readonly #crash: Crash
  #state: unknown
  #born = false

  constructor(cell: Cell, makeSelf: (life: Incarnation) => Self<unknown>, crash: Crash) {
    this.cell = cell
    this.uid = cell.shared.nextUid(cell.name)
    this.#self = makeSelf(this)
    this.#crash = crash
  }

  /** Asks for the first state, lets the children start, then performs the first effects. */
  begin(startChildren: () => void): void {
    const effects = this.#take('init', () => this.cell.have.spec.behaviour.init())
    if (!effects) return
    this.#born = true
    startChildren()
    this.#perform(effects)
  }

  receive(message: unknown): void {
    const { behaviour } = this.cell.have.spec
    const decide = () => behaviour.transition(this.#state, message)
    const effects = this.#take('transition', decide, labelOf(message, 'type'))
    if (effects) this.#perform(effects)
  }

  async close(): Promise<void> {
    const { behaviour, stopMs } = this.cell.have.spec
    if (!this.#born || !behaviour.stopped) return
    const { promise: late, cancel } = this.#lateAfter(stopMs)
    try {
      await Promise.race([behaviour.stopped(this.#state), late])
    } catch (thrown) {
      this.#crash(this, thrown, 'stopped')
    } finally {
      cancel()
    }
  }

  #lateAfter(stopMs: number): { promise: Promise<never>; cancel: () => void } {
    let cancel = () => {}
    const promise = new Promise<never>((_, reject) => {
      const late = () => reject(new Error(`stopped() was not through after ${stopMs} ms`))
      cancel = this.cell.shared.clock.after(stopMs, late)
    })
    return { promise, cancel }
  }

  #take(
    during: During,
    decide: () => Step<unknown, unknown>,
    of?: string,
  ): readonly unknown[] | undefined {
    try {
      const [state, effects] = decide()
      this.#state = state
      return effects
    } catch (thrown) {
      this.#crash(this, thrown, during, of)
      return undefined
    }
  }

  #perform(effects: readonly unknown[]): void {
    const { behaviour } = this.cell.have.spec
    for (const effect of effects) {
      if (!this.live) return
      const crash = (thrown: unknown) => this.#crash(this, thrown, 'perform', labelOf(effect, 'do'))
      try {
        const returned: unknown = behaviour.perform(effect, this.#self)
        // an async perform typechecks too, and its rejection would end the process
        if (returned instanceof Promise) returned.catch(crash)
      } catch (thrown) {
        crash(thrown)
      }
    }
  }
}

function labelOf(value: unknown, key: 'type' | 'do'): string | undefined {
  if (typeof value !== 'object' || value === null || !(key in value)) return undefined
  return String((value as Record<typeof key, unknown>)[key])
}
