// Names of sources and keys of files.
import t from 'tap'
import { fileKey } from '../../../../../actors/node/files/protocol.ts'
import {
  acceptedDigests,
  requirementLine,
  sourceName,
  unavailable,
} from '../../../../../actors/node/files/sources.ts'
import type { Artifact, Source } from '../../../../../transport/contract/artifact.ts'

const digest = 'ab'.repeat(32)
const index: Source & { kind: 'index' } = {
  kind: 'index',
  package: 'tiny',
  version: '1.0',
  sha256: [digest, 'cd'.repeat(32)],
  member: 'tiny/model.gguf',
}
const artifact: Artifact = {
  name: 'tiny',
  version: '1.0',
  platform: 'any',
  licence: 'MIT',
  fileName: 'model.gguf',
  executable: false,
  sha256: digest,
  sources: [index],
}

t.test('a requirement names every digest, so that one line serves all platforms', async (t) => {
  const line = requirementLine(index)
  t.equal(line, `tiny==1.0 --hash=sha256:${digest} --hash=sha256:${'cd'.repeat(32)}`)
})

t.test('an address is named without user, password and query', async (t) => {
  const source = {
    kind: 'https',
    url: 'https://me:secret@mirror.test/a/b.gguf?sig=secret',
  } as const
  t.equal(sourceName(source), 'https://mirror.test/a/b.gguf')
  t.equal(sourceName(index), 'tiny 1.0 of the Python index (in it tiny/model.gguf)')
  t.equal(sourceName({ kind: 'path', path: '/x.gguf' }), '/x.gguf')
})

t.test('only what a source itself gives is held against its digests', async (t) => {
  t.same(acceptedDigests(index), index.sha256)
  t.same(acceptedDigests({ kind: 'https', url: 'https://a.test/', sha256: digest }), [digest])
  t.same(acceptedDigests({ kind: 'https', url: 'https://a.test/' }), [])
  t.same(acceptedDigests({ kind: 'path', path: '/x' }), [])
})

t.test('when no source is left each failure and every way out is named', async (t) => {
  const https = { kind: 'https', url: 'https://a.test/x' } as const
  const all = { ...artifact, sources: [...artifact.sources, https] }
  const details = unavailable(all, ['a: no', 'b: no'], 'name another with --x')
  t.equal(details['tried'], 'Tried: a: no; b: no.')
  t.match(
    details['remedies'],
    /python3-pip.*PIP_INDEX_URL.*HTTPS_PROXY.*or name another with --x\.$/,
  )
})

t.test('ND7: one key for one content, wherever it comes from', async (t) => {
  t.equal(fileKey(artifact), 'tiny-1.0-abababababababab')
  t.equal(fileKey({ ...artifact, sources: [{ kind: 'path', path: '/x' }] }), fileKey(artifact))
})

t.test('ND7: without a digest the address tells files apart', async (t) => {
  const { sha256: _, ...bare } = artifact
  const at = (url: string) => fileKey({ ...bare, sources: [{ kind: 'https', url }] })
  t.equal(at('https://a.test/x'), at('https://a.test/x'))
  t.not(at('https://a.test/x'), at('https://a.test/y'))
  t.match(at('https://a.test/x'), /^tiny-1\.0-[0-9a-f]{16}$/)
})
