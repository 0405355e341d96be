// How the sources of an artifact are named to people, and what is said when none has it.
import type { Details } from '../../../kernel/errors.ts'
import type { Artifact, Source } from '../../../transport/contract/artifact.ts'

/** A source as people are told of it; user, password and query of an address are left out. */
export function sourceName(source: Source): string {
  const member = source.member === undefined ? '' : ` (in it ${source.member})`
  switch (source.kind) {
    case 'index':
      return `${source.package} ${source.version} of the Python index${member}`
    case 'https': {
      const { origin, pathname } = new URL(source.url)
      return `${origin}${pathname}${member}`
    }
    case 'path':
      return `${source.path}${member}`
  }
}

/** The digests that what a source gives may have; empty where nobody named one. */
export function acceptedDigests(source: Source): readonly string[] {
  switch (source.kind) {
    case 'index':
      return source.sha256
    case 'https':
      return source.sha256 === undefined ? [] : [source.sha256]
    case 'path':
      return []
  }
}

/** One line of a requirements file for `pip download --require-hashes`. */
export const requirementLine = (source: Extract<Source, { kind: 'index' }>): string =>
  [
    `${source.package}==${source.version}`,
    ...source.sha256.map((it) => `--hash=sha256:${it}`),
  ].join(' ')

/** Details of LLMGW_ARTIFACT_UNAVAILABLE: each source with why it failed, and every way out. */
export function unavailable(
  artifact: Artifact,
  tried: readonly string[],
  wayOut?: string,
): Details {
  const ways = [
    ...(artifact.sources.some((it) => it.kind === 'index')
      ? [
          'install pip (Debian: apt-get install python3-pip)',
          'let pip reach an index or mirror (PIP_INDEX_URL, HTTPS_PROXY)',
        ]
      : []),
    ...(artifact.sources.some((it) => it.kind === 'https') ? ['set HTTPS_PROXY'] : []),
    ...(wayOut === undefined ? [] : [wayOut]),
  ]
  return {
    artifact: `${artifact.name} ${artifact.version}`,
    tried: `Tried: ${tried.join('; ')}.`,
    remedies: `Ways out: ${ways.join(', or ')}.`,
  }
}
