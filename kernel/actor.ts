// The surface of an actor, as types only; `kernel/system.ts` runs it.
import type { Step } from './step.ts'

/** What an actor is: it decides in `transition`, which is pure, and acts in `perform`. */
export interface Behaviour<S, M, E> {
  /** At each incarnation; what must be found out is looked up by its first effects. */
  init(): Step<S, E>
  /** Pure and synchronous; a throw is a crash of this incarnation. */
  transition(state: S, message: M): Step<S, E>
  /** Starts one effect and returns; its end is told to `self` as a fact. */
  perform(effect: E, self: Self<M>): void
  /** Runs after the last message, awaited for at most `stopMs`. */
  stopped?(state: S): Promise<void>
}

/** An address: valid with its mailbox while its supervisor restarts it; `uid` names the incarnation of now. */
export interface Ref<M> {
  readonly name: string
  readonly uid: string
  /** False: the mailbox is full or the actor is gone. */
  tell(message: M): boolean
}

/**
 * An actor's own handle, of one incarnation: after its end `tell` refuses and timers are gone.
 * What it tells itself has as much room as what others tell it, is never dropped for newer ones, and ends
 * with the incarnation too: the next one hears no facts about what it did not begin.
 */
export interface Self<M> extends Ref<M> {
  /** Always taken, as are the messages of `watch` and `ask`. */
  after(delayMs: number, message: M): void
  /** Milliseconds on the monotonic clock. */
  now(): number
  spawn<CS, CM, CE>(child: ChildSpec<CS, CM, CE>): Ref<CM>
  /** Resolves when the child and all beneath it have stopped. */
  stop(child: Ref<never>): Promise<void>
  /** Ends this actor of its own will: reason 'stopped'. Effects after this one are not performed. */
  end(): void
  /** Tells the final end exactly once, also of an actor that is already gone. */
  watch(ref: Ref<never>, toMessage: (end: End) => M): void
  ask<A>(
    to: Ref<never>,
    make: (reply: (answer: A) => void) => unknown,
    withinMs: number,
    toMessage: (answer: Answer<A>) => M,
    signal?: AbortSignal,
  ): void
}

/** How an actor ended for good. */
export type End = { uid: string; reason: 'stopped' | 'failed' | 'unknown'; error?: Error }

/** How an ask ended: by a reply or by one of the ways in which none came. */
export type Answer<A> =
  | { ok: true; value: A }
  | { ok: false; why: 'deadline' | 'refused' | 'gone' | 'aborted' }

/** How a child is made, restarted and stopped. Checked before it starts. */
export interface ChildSpec<S, M, E> {
  name: string
  /** An address made before, so that siblings can be handed each other's. */
  at?: Ref<M>
  behaviour: Behaviour<S, M, E>
  // biome-ignore lint/suspicious/noExplicitAny: children of every kind stand in one list, and no other type is both a sub- and a supertype of each
  children?: readonly ChildSpec<any, any, any>[]
  strategy?: 'one-for-one' | 'rest-for-one'
  restart: 'permanent' | 'transient' | 'temporary'
  /** More than `intensity` restarts within `periodMs` fail the parent too. */
  intensity: number
  periodMs: number
  delayMs: { min: number; max: number }
  capacity: number
  overflow: 'refuse' | 'drop-oldest'
  stopMs: number
}
