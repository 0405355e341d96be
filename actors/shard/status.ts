// A shard's state as the node reports it.
import { assertNever } from '../../kernel/assert.ts'
import type { ShardStatus } from '../../transport/contract/node.ts'
import type { Next, State } from './phases.ts'
import { untold } from './protocol.ts'

/** A step of the transition, with every change also said to the owner. */
export function told(host: string, before: State, [next, effects]: Next): Next {
  if (next === before) return [next, effects]
  return [
    next,
    [...effects, { do: 'say', event: { type: 'changed', status: statusOf(host, next) } }],
  ]
}

/** `host` is where routers reach the engine. */
export function statusOf(host: string, state: State): ShardStatus {
  return {
    ...untold(state.spec, host),
    phase: phaseOf(state),
    pid: 'pid' in state ? state.pid : null,
    port: 'port' in state ? state.port : null,
    reason: 'reason' in state ? state.reason : 'loss' in state ? state.loss.text : null,
    progress: 'progress' in state ? state.progress : null,
    engineVersion: 'version' in state ? state.version : null,
    ...(state.phase === 'ready' && {
      compute: state.compute,
      running: state.running,
      waiting: state.waiting,
    }),
    restarts: state.restarts,
  }
}

/** An adopted engine counts as looked for until it answers: it may have served all the while. */
function phaseOf(state: State): ShardStatus['phase'] {
  switch (state.phase) {
    case 'loading':
      return state.adopted ? 'looking' : 'loading'
    case 'falling':
      return 'restarting'
    case 'looking':
    case 'installing':
    case 'fetching':
    case 'starting':
    case 'ready':
    case 'restarting':
    case 'failed':
    case 'stopping':
      return state.phase
    default:
      return assertNever(state)
  }
}
