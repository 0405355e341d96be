// How a shard's engine is started: program, arguments, environment and signals.
import type { Engine } from '../../engines/engine.ts'
import type { ProcessSpec } from '../process/protocol.ts'
import type { Place, ShardSpec } from './protocol.ts'

export type Ingredients = {
  engine: Engine
  spec: ShardSpec
  /** The engine's program and leading arguments on this machine. */
  argv: readonly string[]
  modelPath: string
  /** Where routers reach it. */
  host: string
  place: Place
}

/** Libraries ask for a name and fail where an id has none. */
const userName = 'llmgw-engine'

/** The environment is the engine's own list and these few, nothing of the agent's; the key is in it and nowhere else. */
export function processOf({
  engine,
  spec,
  argv,
  modelPath,
  host,
  place,
}: Ingredients): ProcessSpec {
  const { args, env } = engine.start({
    modelPath,
    alias: spec.model,
    host,
    port: place.port,
    key: spec.key,
    profile: spec.profile,
    homeDir: place.homeDir,
  })
  return {
    name: spec.replica,
    argv: [...argv, ...args],
    env: {
      PATH: place.path,
      HOME: place.homeDir,
      TMPDIR: place.homeDir,
      LANG: 'C.UTF-8',
      ...(place.user && { USER: userName, LOGNAME: userName }),
      ...env,
    },
    cwd: place.homeDir,
    ...(place.user && { user: place.user }),
    stop: engine.stop.map((step) => ({ ...step, to: 'group' })),
  }
}
