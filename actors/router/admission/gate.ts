// Lets requests in: each gets a hold, which is ended exactly once.
import type { Failure } from '../../../kernel/errors.ts'
import type { RoutedKey } from '../../../transport/contract/route.ts'

/** What a request may cost, as far as it is known before it runs. */
export type Cost = { promptBytes: number }

/** A request's right to run. */
export interface Hold {
  /** Later calls do nothing. */
  end(): void
}

export type Admitted = { ok: true; hold: Hold } | { ok: false; error: Failure }

export interface Gate {
  /** A promise only where a slice of a limit has to be asked for. */
  admit(key: RoutedKey, model: string, cost: Cost): Admitted | Promise<Admitted>
  /** Holds that have not ended. */
  readonly held: number
}

/** Limits are infinite. */
export function openGate(): Gate {
  let held = 0
  return {
    admit() {
      held += 1
      let ended = false
      const end = (): void => {
        if (!ended) held -= 1
        ended = true
      }
      return { ok: true, hold: { end } }
    },
    get held() {
      return held
    },
  }
}
