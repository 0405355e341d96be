// What may be said to the keeper of a node's model files, and what it says.
import type { Failure } from '../../../kernel/errors.ts'
import type { Artifact } from '../../../transport/contract/artifact.ts'
import type { Header } from '../../../transport/contract/model.ts'
import type { NodeFile, Progress } from '../../../transport/contract/node.ts'

/** Asks for a file; it is fetched once however many ask. Each asker is told progress, then `done` or `failed` exactly once. */
export type Command = {
  type: 'fetch'
  artifact: Artifact
  replyTo: (event: FetchEvent) => void
}

/** A file that is whole, checked and in place. */
export type FetchedFile = {
  /** `fileKey` of its artifact. */
  key: string
  /** Absolute. */
  path: string
  sizeBytes: number
  /** Null where nobody named a digest and the file is used in place. */
  sha256: string | null
  /** Null for kinds of files that have none. */
  header: Header | null
}

export type FetchEvent =
  | { type: 'progress'; progress: Progress }
  | { type: 'done'; file: FetchedFile }
  | { type: 'failed'; failure: Failure }

/** Told by this actor's own effects. */
export type Fact =
  | { type: 'scanned'; files: readonly NodeFile[] }
  | { type: 'unscanned'; reason: string }
  | { type: 'progressed'; key: string; attempt: number; progress: Progress }
  | { type: 'fetched'; key: string; attempt: number; file: FetchedFile }
  | { type: 'missed'; key: string; attempt: number; failure: Failure }

export type Message = Command | Fact

/** To its owner: the whole list, once the folder was read and whenever it changes. A file that could not be had stands in it with its failure. */
export type Event = { type: 'changed'; files: readonly NodeFile[] }

/** The one name of an artifact's file on every node, usable as a name of a folder: from its digest, or else from where it comes. */
export function fileKey(artifact: Artifact): string {
  const content = artifact.sha256?.slice(0, 16) ?? fnv1a(JSON.stringify(artifact.sources))
  return `${artifact.name}-${artifact.version}-${content}`
}

/** Tells addresses apart, no more: whoever wants a proof names a digest. */
function fnv1a(text: string): string {
  let hash = 0xcbf29ce484222325n
  for (const byte of new TextEncoder().encode(text)) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n)
  }
  return hash.toString(16).padStart(16, '0')
}
