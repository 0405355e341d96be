// The bounded queue of one actor: it belongs to the address and outlives incarnations.
import Denque from 'denque'

type Letter = { message: unknown; own: boolean }

/** 'full': not taken. 'dropped': taken, and the oldest one from outside was thrown away for it. */
export type Taken = 'taken' | 'full' | { dropped: unknown }

export class Mailbox {
  readonly #letters = new Denque<Letter>()
  readonly #capacity: number
  readonly #overflow: 'refuse' | 'drop-oldest'
  #fromOutside = 0

  constructor(capacity: number, overflow: 'refuse' | 'drop-oldest') {
    this.#capacity = capacity
    this.#overflow = overflow
  }

  get length(): number {
    return this.#letters.length
  }

  /** From outside: at most `capacity` of these are held. */
  push(message: unknown): Taken {
    let taken: Taken = 'taken'
    if (this.#fromOutside >= this.#capacity) {
      if (this.#overflow === 'refuse') return 'full'
      taken = { dropped: this.#dropOldest() }
    }
    this.#letters.push({ message, own: false })
    this.#fromOutside += 1
    return taken
  }

  /** From the actor's own effects, which have as much room again: a flood must not cost it its facts. False: full. */
  pushOwn(message: unknown): boolean {
    if (this.#letters.length - this.#fromOutside >= this.#capacity) return false
    this.force(message)
    return true
  }

  /** What the kernel owes the actor (a timer, an answer, an end): always taken. */
  force(message: unknown): void {
    this.#letters.push({ message, own: true })
  }

  /** The oldest; undefined if there is none. */
  shift(): { message: unknown } | undefined {
    const letter = this.#letters.shift()
    if (letter && !letter.own) this.#fromOutside -= 1
    return letter
  }

  /** Takes out all that is the actor's own: it was for the incarnation that has ended. */
  forgetOwn(): void {
    for (let left = this.#letters.length; left > 0; left -= 1) {
      const letter = this.#letters.shift()
      if (letter && !letter.own) this.#letters.push(letter)
    }
  }

  #dropOldest(): unknown {
    for (let index = 0; index < this.#letters.length; index += 1) {
      const letter = this.#letters.peekAt(index)
      if (letter && !letter.own) {
        this.#letters.removeOne(index)
        this.#fromOutside -= 1
        return letter.message
      }
    }
    throw new Error('the mailbox counts a message from outside that it does not hold')
  }
}
