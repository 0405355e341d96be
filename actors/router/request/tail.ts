// Remembers the last bytes of a stream, to tell whether it ended with OpenAI's closing mark.

const size = 32
const mark = /(?:^|[\r\n])data: ?\[DONE\]\s*$/

/** No object is made per chunk. */
export class Tail {
  readonly #bytes = new Uint8Array(size)

  push(chunk: Uint8Array): void {
    const bytes = this.#bytes
    const taken = Math.min(size, chunk.length)
    if (taken < size) bytes.copyWithin(0, taken)
    for (let at = 0; at < taken; at += 1) {
      bytes[size - taken + at] = chunk[chunk.length - taken + at] as number
    }
  }

  /** The stream ended as a whole one does. */
  get isDone(): boolean {
    return mark.test(String.fromCharCode(...this.#bytes).replace(/^\0+/, ''))
  }
}
