// The header of a model's file: learnt from a node that has it, else asked for on one node.
import type { Header } from '../../../transport/contract/model.ts'
import { fileKey } from '../../node/files/protocol.ts'
import type { CatalogModel } from '../catalog/protocol.ts'
import type { Heard, Member } from '../members/protocol.ts'
import { diskBytes, marginBytes, quietMs, refusalOf, silenceMs, size } from './room.ts'
import { isDue, note, type Plan, type View } from './view.ts'

/** A file is asked for again after so long: fetching takes its time. */
const fetchAgainMs = 60_000

/** The header as some node has read it; the catalog is told. */
export function learn(view: View, plan: Plan, model: CatalogModel): Header | null {
  const { name } = model.definition
  const header = filesOf(view, model).find(({ file }) => file.header !== null)?.file.header ?? null
  if (header !== null) plan.learnt.push({ model: name, header })
  return header
}

/** Asks a node for the file, chosen by its engine and its disk alone; says how far that is. */
export function fetchHeader(view: View, plan: Plan, model: CatalogModel): string {
  const { members, now } = view
  const { name, artifact, engine } = model.definition
  const broken = new Map(filesOf(view, model).map(({ node, file }) => [node, file.failure]))
  const neededBytes = artifact.sizeBytes ?? 0
  const heard = [...members.nodes.values()].flatMap((it): (Member & { heard: Heard })[] =>
    it.heard === null ? [] : [{ ...it, heard: it.heard }],
  )
  const roomy = heard
    .filter((it) => silenceMs(it, members, now) <= quietMs)
    .filter((it) => refusalOf(it.heard, engine) === null)
    .filter((it) => {
      const needed = diskBytes(it.heard, model.definition, neededBytes)
      return needed === 0 || needed + marginBytes <= it.heard.load.diskFreeBytes
    })
    .sort(
      (a, b) =>
        Number(broken.has(a.node)) - Number(broken.has(b.node)) ||
        b.heard.load.diskFreeBytes - a.heard.load.diskFreeBytes ||
        (a.node < b.node ? -1 : 1),
    )
  const key = `fetch.${name}`
  const before = plan.asked.get(key)
  const stays = roomy.find((it) => it.node === before?.node && !broken.has(it.node))
  const target = stays ?? roomy[0]
  if (target !== undefined) {
    const again = target.node !== before?.node && !broken.has(target.node) ? 0 : fetchAgainMs
    if (isDue(plan, now, key, () => again)) {
      const { node, boot } = target
      note(plan, now, key, node)
      plan.orders.push({ type: 'fetch', node, boot, artifact, model: name })
    }
  }
  const failures = [...broken].flatMap(([node, it]) =>
    it === null ? [] : [`node ${node}: ${it.message}`],
  )
  if (failures.length > 0) return [`the model's file cannot be used`, ...failures].join('; ')
  if (target !== undefined) return `reading the model's header on node ${target.node}`
  const why =
    heard.length === 0
      ? 'no node has registered'
      : `no node that reports can run ${engine} and has the room on its disk`
  return `reading the model's header: ${why}${neededBytes > 0 ? ` (${size(neededBytes)})` : ''}`
}

function filesOf(view: View, model: CatalogModel) {
  const key = fileKey(model.definition.artifact)
  return [...view.members.nodes.values()].flatMap(({ node, heard }) =>
    (heard?.files ?? []).filter((it) => it.key === key).map((file) => ({ node, file })),
  )
}
