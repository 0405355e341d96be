// Counts the bytes that all requests of this process hold in memory together, and refuses above a limit.

export class Buffers {
  readonly limitBytes: number
  #usedBytes = 0

  constructor(limitBytes: number) {
    this.limitBytes = limitBytes
  }

  get usedBytes(): number {
    return this.#usedBytes
  }

  /** False, and nothing taken, where that many more would be too many. */
  take(bytes: number): boolean {
    if (this.#usedBytes + bytes > this.limitBytes) return false
    this.#usedBytes += bytes
    return true
  }

  give(bytes: number): void {
    this.#usedBytes -= bytes
  }
}
