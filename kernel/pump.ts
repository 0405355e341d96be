// Lets actors take turns: the only file that knows nact, which sees one flat, stateless actor per pump.
import { dispatch, type Ref as NactRef, spawn, start, stop } from 'nact'

/** Messages of one turn. */
const turnMessages = 64
/** After this a turn begins no further message: so long the other actors and all input wait for this one. */
const turnMs = 5

export interface Pump {
  /** Works in a later turn of the event loop, once however often it is called before. */
  wake(): void
  stop(): void
}

export interface Pumps {
  /** `work` does one piece and answers whether there is more. */
  add(work: () => boolean): Pump
  stop(): void
}

/** `onFault` hears what `work` throws, which it must not: nact never sees it, and the pump goes on. */
export function startPumps(onFault: (error: unknown) => void): Pumps {
  const root = start()
  let count = 0
  return {
    add(work) {
      count += 1
      return addPump(root, `pump-${count}`, work, onFault)
    },
    stop: () => stop(root),
  }
}

function addPump(
  root: NactRef<never>,
  name: string,
  work: () => boolean,
  onFault: (error: unknown) => void,
): Pump {
  let awake = false
  const turn = () => {
    awake = false
    try {
      if (workOneTurn(work)) wake()
    } catch (error) {
      onFault(error)
      wake()
    }
  }
  // nact's own supervision copies mailboxes and runs two handlers at once: it is never reached, since `turn` catches
  const ref = spawn(root, turn, name, { onCrash: (_message, _error, context) => context.resume })
  const wake = () => {
    if (awake) return
    awake = true
    dispatch(ref, null)
  }
  return { wake, stop: () => stop(ref) }
}

function workOneTurn(work: () => boolean): boolean {
  const startedAt = performance.now()
  for (let done = 1; work(); done += 1) {
    if (done === turnMessages || performance.now() - startedAt >= turnMs) return true
  }
  return false
}
