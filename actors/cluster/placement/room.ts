// Where a replica fits: what nodes have free, what a model needs, and both in words.
import type { Engine } from '../../../engines/engine.ts'
import type { Header, Model } from '../../../transport/contract/model.ts'
import { fileKey } from '../../node/files/protocol.ts'
import type { Heard, Member, Members } from '../members/protocol.ts'
import type { ReplicaRecord } from './protocol.ts'

/** Nothing new is placed on a node that was silent for longer. */
export const quietMs = 5000
/** What a node served is placed elsewhere once it was silent for so long. */
export const goneMs = 60_000
/** Left free on every node for what grows: page tables, the agent, the operator's shell. */
export const marginBytes = 256 * 2 ** 20

/** Milliseconds since the node was heard; one that this leadership never heard counts from its beginning. */
export const silenceMs = (member: Member, members: Members, now: number): number =>
  now - (member.heard?.at ?? members.since)

/** More than half of the nodes are silent at once: then the observer is the likelier culprit, and nothing is moved. */
export function isBlind(members: Members, now: number): boolean {
  const nodes = [...members.nodes.values()]
  const silent = nodes.filter((it) => silenceMs(it, members, now) > quietMs)
  return silent.length * 2 > nodes.length
}

/** What replicas on a node may use at most, whether they have taken it yet or not. */
export const reservedBytes = (records: readonly ReplicaRecord[]): number =>
  records.reduce((sum, it) => sum + it.profile.memoryBytes, 0)

/**
 * Memory for one more replica. What the node reports free misses what placed replicas have yet to
 * take, and counts weights that are mapped from a file as free: so all reservations must also fit
 * into the whole.
 */
function freeBytes(member: Member, heard: Heard, records: readonly ReplicaRecord[]): number {
  const phaseOf = new Map(heard.shards.map((it) => [it.replica, it.phase]))
  const pending = records.filter((it) => {
    const phase = phaseOf.get(it.replica)
    return phase !== 'ready' && phase !== 'stopping'
  })
  const byReport = heard.load.memoryAvailableBytes - reservedBytes(pending)
  const byWhole = member.hardware.memoryBytes - reservedBytes(records)
  return Math.min(byReport, byWhole) - marginBytes
}

/** A place for a replica, or why there is none. */
export type Place =
  | { fits: true; node: string; profile: ReplicaRecord['profile']; leftBytes: number }
  | { fits: false; node: string; why: string }

/** A model with all that its memory hangs on. */
export type Placeable = { definition: Model; createdAt: number; engine: Engine; header: Header }

/** `records` are those on this node. */
export function placeOn(
  member: Member,
  { members, now, records }: { members: Members; now: number; records: readonly ReplicaRecord[] },
  { definition, engine, header }: Placeable,
): Place {
  const { node, heard, hardware } = member
  const no = (why: string): Place => ({ fits: false, node, why: `node ${node} ${why}` })
  if (heard === null) return no('has not reported yet')
  const silentMs = silenceMs(member, members, now)
  if (silentMs > quietMs) return no(`is silent for ${Math.round(silentMs / 1000)} s`)
  const refusal = refusalOf(heard, engine.name)
  if (refusal !== null) return no(`cannot run ${engine.name}: ${refusal}`)
  const usable = Math.max(1, Math.floor(hardware.cpu.usable))
  const asked = definition.profile.cores ?? 1
  if (asked > usable) return no(`has ${usable} usable cores of ${asked} that are asked for`)
  const missing = missingDisk(heard, definition, header)
  if (missing !== null) return no(missing)
  const profile = profileFor(engine, definition, header, usable)
  const free = freeBytes(member, heard, records)
  if (profile.memoryBytes > free) return no(`has ${size(Math.max(0, free))} free`)
  return { fits: true, node, profile, leftBytes: free - profile.memoryBytes }
}

/** Why the node's build of an engine is not to be used, if so. */
export function refusalOf(heard: Heard, engine: string): string | null {
  const refused = heard.installs.find((it) => it.engine === engine && it.state === 'refused')
  return refused === undefined ? null : (refused.reason ?? 'its build was refused')
}

/** What a replica gets on a node with so many usable cores. */
export function profileFor(
  engine: Engine,
  definition: Model,
  header: Header,
  usableCores: number,
): ReplicaRecord['profile'] {
  const chosen = engine.choose(definition.profile, header, usableCores)
  const memoryBytes = definition.profile.memoryBytes ?? engine.memoryBytes(header, chosen)
  return { ...chosen, memoryBytes: Math.ceil(memoryBytes) }
}

/** What a replica needs and why, in words; what is needed does not hang on the node. */
export function needInWords(engine: Engine, definition: Model, header: Header): string {
  const { memoryBytes, contextTokens, slots } = profileFor(engine, definition, header, 1)
  if (definition.profile.memoryBytes !== undefined) {
    return `needs ${size(memoryBytes)} as its definition says`
  }
  const rest = size(Math.max(0, memoryBytes - header.weightsBytes))
  const context = `${slots} × ${contextTokens} tokens of context`
  return `needs ${size(memoryBytes)}: ${size(header.weightsBytes)} for weights, ${rest} for ${context} and buffers`
}

/** Bytes that a file takes on a node's disk: none if it is there, or is used where it lies. */
export function diskBytes(heard: Heard, { artifact }: Model, sizeBytes: number): number {
  const isThere = heard.files.some((it) => it.key === fileKey(artifact) && it.failure === null)
  return isThere || artifact.sources[0]?.kind === 'path' ? 0 : sizeBytes
}

function missingDisk(heard: Heard, definition: Model, header: Header): string | null {
  const needed = diskBytes(heard, definition, definition.artifact.sizeBytes ?? header.weightsBytes)
  const { diskFreeBytes } = heard.load
  if (needed === 0 || needed + marginBytes <= diskFreeBytes) return null
  return `has ${size(diskFreeBytes)} of disk free of ${size(needed + marginBytes)} that are needed`
}

/** Bytes for people. */
export const size = (bytes: number): string =>
  bytes < 2 ** 30 ? `${Math.round(bytes / 2 ** 20)} MiB` : `${(bytes / 2 ** 30).toFixed(1)} GiB`
