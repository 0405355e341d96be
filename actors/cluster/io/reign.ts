// Everything that one leadership writes, reads and sends: each act is refused once its authority is over.
import type { ZodType } from 'zod'
import { failure, LlmgwError } from '../../../kernel/errors.ts'
import type { Logger } from '../../../kernel/log.ts'
import { type BridgeOptions, bridge } from '../../../transport/bridge.ts'
import type { Bus } from '../../../transport/bus.ts'
import type { Outcome } from '../../../transport/contract/envelope.ts'
import { problemOf } from '../../../transport/contract/problem.ts'
import type { Store } from '../../../transport/store.ts'
import type { LeaseAuthority } from '../election/io/authority.ts'

export type BucketName = 'state' | 'route'

export type ReignOptions = {
  token: number
  store: Store
  bus: Bus
  authority: LeaseAuthority
  log: Logger
  /** The store has shown that another leader has taken over. */
  onDeposed(): void
}

/** An answer of a node is waited for so long; a lost command is sent again anyway. */
const commandMs = 2000

export class Reign {
  readonly token: number
  readonly log: Logger
  readonly #options: ReignOptions
  /** Writes go one after another, so that a later one never overtakes an earlier. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(options: ReignOptions) {
    this.token = options.token
    this.log = options.log
    this.#options = options
  }

  /** Resolves with the revision. Throws LLMGW_FENCED or LLMGW_STORE_FAILED. */
  put(bucket: BucketName, key: string, value: unknown): Promise<number> {
    return this.#inOrder(() => this.#options.store[bucket].put(key, value))
  }

  delete(bucket: BucketName, key: string): Promise<void> {
    return this.#inOrder(() => this.#options.store[bucket].delete(key))
  }

  /** Entries whose keys begin with `prefix`. One that cannot be read is an error: to leave it out could undo what it stands for. */
  async read<T>(
    bucket: BucketName,
    prefix: string,
    schema: ZodType<T>,
  ): Promise<{ key: string; value: T; revision: number }[]> {
    const entries = await this.#act(() => this.#options.store[bucket].entries())
    return entries
      .filter(({ key }) => key.startsWith(prefix))
      .map(({ key, value, revision }) => {
        const parsed = schema.safeParse(value)
        if (parsed.success) return { key, value: parsed.data, revision }
        throw new LlmgwError('LLMGW_STORE_FAILED', { key, problem: problemOf(parsed.error) })
      })
  }

  /** Asks a node; never throws. */
  async request<A>(subject: string, body: unknown, answer: ZodType<A>): Promise<Outcome<A>> {
    const withinMs = Math.min(commandMs, this.#remainingMs)
    if (withinMs < 1) return { ok: false, error: failure('LLMGW_FENCED', { key: subject }) }
    return this.#options.bus.request(subject, body, answer, { withinMs: Math.ceil(withinMs) })
  }

  /** Told to whoever listens. */
  publish(subject: string, body: unknown): void {
    if (this.#remainingMs > 0) this.#options.bus.publish(subject, body)
  }

  /** Takes messages while this leadership acts; afterwards they stay unanswered, since a successor answers them. */
  bridge<Req, Ans, M>(options: Omit<BridgeOptions<Req, Ans, M>, 'bus'>): { stop(): void } {
    const { name, uid } = options.to
    const tell = (message: M) => this.#remainingMs <= 0 || options.to.tell(message)
    return bridge({ ...options, bus: this.#options.bus, to: { name, uid, tell } })
  }

  get #remainingMs(): number {
    return this.#options.authority.remainingMs(this.token)
  }

  #inOrder<T>(write: () => Promise<T>): Promise<T> {
    const written = this.#last.then(() => this.#act(write))
    this.#last = written.catch(() => undefined) // told to whoever asked for it
    return written
  }

  async #act<T>(act: () => Promise<T>): Promise<T> {
    if (this.#remainingMs <= 0) throw fenced('anything')
    try {
      return await act()
    } catch (error) {
      if (error instanceof LlmgwError && error.code === 'LLMGW_FENCED') this.#options.onDeposed()
      throw error
    }
  }
}

const fenced = (key: string) => new LlmgwError('LLMGW_FENCED', { key })
