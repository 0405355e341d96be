// One question to the server, over a connection that may come and go.

/** What must be known of a connection to ask over it; the bus is one. */
export interface Connected {
  readonly connected: boolean
  readonly connection: { isClosed(): boolean }
  onStatus(
    listener: (status: { type: 'connected' | 'disconnected' | 'closed'; reason?: string }) => void,
  ): () => void
}

/**
 * Asks once: as soon as there is a connection, and not again. Rejects with what `ask` throws, when
 * `withinMs` are over, or when the connection is lost on the way, since no answer can come then;
 * what was asked may have been done all the same. `ask` is told the time that is left.
 */
export const exchange = <T>(
  bus: Connected,
  withinMs: number,
  ask: (leftMs: number) => Promise<T>,
): Promise<T> =>
  new Promise((resolve, reject) => {
    if (bus.connection.isClosed()) return reject(new Error('the connection is closed'))
    const startedAt = performance.now()
    let asked = false
    const end = (finish: () => void): void => {
      clearTimeout(timer)
      stopListening()
      finish()
    }
    const fail = (problem: string): void => end(() => reject(new Error(problem)))
    const begin = (): void => {
      asked = true
      const leftMs = Math.max(1, Math.ceil(withinMs - (performance.now() - startedAt)))
      ask(leftMs).then(
        (answer) => end(() => resolve(answer)),
        (thrown: unknown) => end(() => reject(thrown)),
      )
    }
    const timer = setTimeout(() => fail(`no answer within ${withinMs} ms`), withinMs)
    const stopListening = bus.onStatus((status) => {
      if (status.type === 'closed') fail(`the connection is closed: ${status.reason}`)
      else if (status.type === 'disconnected' && asked) fail('the connection was lost')
      else if (status.type === 'connected' && !asked) begin()
    })
    if (bus.connected) begin()
  })
