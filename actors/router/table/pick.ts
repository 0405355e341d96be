// Chooses the replica that a request goes to.
import type { Route } from '../../../transport/contract/route.ts'

export type PickFrom = {
  routes: readonly Route[]
  /** Requests of this router on a replica, ghosts included. */
  load(replica: string): number
  avoided: ReadonlyMap<string, number>
  tried: readonly string[]
  now: number
  /** Rises with every pick, so that equals take turns. */
  turn: number
}

/** The least loaded for its slots among those not tried; avoided ones only where no other is left. */
export function pick({ routes, load, avoided, tried, now, turn }: PickFrom): Route | null {
  let best: Route | null = null
  let bestAvoided = true
  let bestLoad = 0
  for (let step = 0; step < routes.length; step += 1) {
    const route = routes[(turn + step) % routes.length]
    if (!route || tried.includes(route.replica)) continue
    const isAvoided = (avoided.get(route.replica) ?? 0) > now
    const routeLoad = load(route.replica) / route.slots
    const better = isAvoided === bestAvoided ? routeLoad < bestLoad : bestAvoided
    if (best === null || better) {
      best = route
      bestAvoided = isAvoided
      bestLoad = routeLoad
    }
  }
  return best
}
