// What the verbs that only look are answered: views of the moment, put together from all that placement was told.
import { engineByName } from '../../../engines/index.ts'
import type { AdminAnswer, NodeView, ReplicaView } from '../../../transport/contract/admin.ts'
import type { CatalogModel } from '../catalog/protocol.ts'
import type { Member } from '../members/protocol.ts'
import type { Leader, LookVerb, ReplicaRecord } from './protocol.ts'
import { goneMs, needInWords, profileFor, quietMs, reservedBytes, silenceMs } from './room.ts'
import { shardOf, type View } from './view.ts'

/** What is known when somebody looks. */
export type Scene = Omit<View, 'ids' | 'asked'> & {
  leader: Leader
  /** Of the last decision, by model. */
  reasons: ReadonlyMap<string, string>
}

type OfModel = 'models-show' | 'why'

/** The answers of verbs that are about everything. */
export const answers: {
  [V in Exclude<LookVerb, OfModel>]: (scene: Scene) => AdminAnswer<V>
} = {
  status: (scene) => ({
    leader: scene.leader,
    nodes: [...scene.members.nodes.values()].map((it) => {
      const { node, pid, state, version } = nodeView(scene, it)
      return { node, pid, state, version }
    }),
    routers: [...scene.members.routers.values()].map(({ router, pid, at }) => ({
      router,
      pid,
      silentMs: scene.now - at,
    })),
    models: [...scene.models.values()].map((it) => {
      const { name: model, replicas: wanted } = it.definition
      return {
        model,
        wanted,
        ready: readyOf(scene, model),
        reason: scene.reasons.get(model) ?? null,
      }
    }),
    replicas: replicaViews(scene),
  }),
  'nodes-list': (scene) => ({
    nodes: [...scene.members.nodes.values()].map((it) => nodeView(scene, it)),
  }),
  'models-list': (scene) => ({
    models: [...scene.models.values()].map((it) => modelView(scene, it)),
  }),
  'replicas-list': (scene) => ({ replicas: replicaViews(scene) }),
}

/** The answers of verbs that are about one model. */
export const modelAnswers: {
  [V in OfModel]: (scene: Scene, model: CatalogModel) => AdminAnswer<V>
} = {
  'models-show': (scene, model) => ({
    model: modelView(scene, model),
    replicas: replicaViews(scene).filter((it) => it.model === model.definition.name),
  }),
  why: (scene, model) => ({ lines: why(scene, model) }),
}

const readyOf = (scene: Scene, model: string): number =>
  replicaViews(scene).filter((it) => it.model === model && it.state === 'ready').length

const replicaViews = (scene: Scene): ReplicaView[] =>
  [...scene.records.values()].map((it) => replicaView(scene, it))

function replicaView(scene: Scene, record: ReplicaRecord): ReplicaView {
  const { replica, model, node } = record
  const shard = shardOf(scene, record)
  const holds = [...scene.members.routers.values()].map((it) => it.holds[replica] ?? 0)
  return {
    replica,
    model,
    node,
    state: stateOf(scene, record),
    pid: shard?.pid ?? null,
    address: shard === null || shard.port === null ? null : `${shard.host}:${shard.port}`,
    inFlight: holds.reduce((sum, it) => sum + it, 0),
    reason: shard?.reason ?? null,
    progress: shard?.progress ?? null,
    restarts: shard?.restarts ?? 0,
  }
}

/** 1. what was decided, 2. whether its node can tell, 3. what its node tells. */
function stateOf(scene: Scene, record: ReplicaRecord): ReplicaView['state'] {
  if (record.state === 'draining') return 'draining'
  const member = scene.members.nodes.get(record.node)
  if (member === undefined || silenceMs(member, scene.members, scene.now) > goneMs) return 'lost'
  return shardOf(scene, record)?.phase ?? 'placed'
}

function nodeView(scene: Scene, member: Member): NodeView {
  const { node, boot, pid, version, address, hardware, heard } = member
  const silentMs = silenceMs(member, scene.members, scene.now)
  const records = [...scene.records.values()].filter((it) => it.node === node)
  return {
    node,
    boot,
    pid,
    version,
    address,
    state: silentMs > goneMs ? 'gone' : silentMs > quietMs ? 'silent' : 'up',
    silentMs,
    hardware,
    load: heard?.load ?? null,
    files: [...(heard?.files ?? [])],
    installs: [...(heard?.installs ?? [])],
    reservedBytes: reservedBytes(records),
  }
}

function modelView(scene: Scene, { definition, header, createdAt }: CatalogModel) {
  const engine = engineByName(definition.engine)
  const isKnown = header !== null && engine !== undefined
  return {
    definition,
    header,
    memoryBytes: isKnown ? profileFor(engine, definition, header, 1).memoryBytes : null,
    createdAt,
    ready: readyOf(scene, definition.name),
    reason: scene.reasons.get(definition.name) ?? null,
  }
}

function why(scene: Scene, { definition, header }: CatalogModel): string[] {
  const { name, replicas } = definition
  const records = [...scene.records.values()].filter((it) => it.model === name)
  const engine = engineByName(definition.engine)
  const need =
    header === null || engine === undefined
      ? 'its memory is not known yet'
      : `each ${needInWords(engine, definition, header)}`
  const reason = scene.reasons.get(name)
  return [
    `${name}: ${replicas} wanted, ${readyOf(scene, name)} ready; ${need}.`,
    ...records.map((it) => {
      const { state, reason: trouble } = replicaView(scene, it)
      const told = trouble === null ? '' : ` It says: ${trouble}`
      return `Replica ${it.replica} is ${state} on node ${it.node}: ${sentence(it.why)}${told}`
    }),
    ...(reason === undefined ? [] : [sentence(reason)]),
  ]
}

const sentence = (text: string): string => (text.endsWith('.') ? text : `${text}.`)
