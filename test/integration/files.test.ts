// A node's model files on a real disk.
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { filesPorts } from '../../actors/node/files/io/ports.ts'
import { fileKey } from '../../actors/node/files/protocol.ts'
import type { LlmgwError } from '../../kernel/errors.ts'
import type { Artifact } from '../../transport/contract/artifact.ts'
import { tinyGguf } from '../support/tiny-gguf.ts'

const artifactAt = (path: string, member?: string): Artifact => ({
  name: 'tiny',
  version: '1',
  platform: 'any',
  licence: 'MIT',
  fileName: 'tiny.gguf',
  executable: false,
  sources: [{ kind: 'path', path, ...(member !== undefined && { member }) }],
})
const quiet = () => {}

t.test('a file of the operator is used in place, with its header, and found again', async (t) => {
  const home = t.testdir({ 'mine.gguf': tinyGguf(), models: {} })
  const path = join(home, 'mine.gguf')
  const dir = join(home, 'models')
  const said: string[] = []
  const got = await filesPorts(dir).fetch(artifactAt(path), ({ what }) => said.push(what))
  t.match(got, { path, sha256: null, header: { layers: 2, trainContextTokens: 512 } })
  t.same(said, [`tiny is from ${path}`])
  t.match(await filesPorts(dir).scan(), [{ key: got.key, sizeBytes: got.sizeBytes, failure: null }])
  const key = fileKey(artifactAt(path))
  t.same(readdirSync(join(dir, key)), ['record.json'], 'nothing is copied')
})

t.test('a file that changed since is looked at anew', async (t) => {
  const home = t.testdir({ 'mine.gguf': tinyGguf(), models: {} })
  const path = join(home, 'mine.gguf')
  const ports = filesPorts(join(home, 'models'))
  await ports.fetch(artifactAt(path), quiet)
  writeFileSync(path, tinyGguf('another and longer'))
  t.same(await ports.scan(), [], 'what was recorded is not what is there')
  const got = await ports.fetch(artifactAt(path), quiet)
  t.equal(got.sizeBytes, statSync(path).size)
})

for (const [what, damage, problem] of [
  ['text', (path: string) => writeFileSync(path, 'hello, this is no model'), /magic/],
  ['empty', (path: string) => truncateSync(path, 0), /magic/],
  ['cut off', (path: string) => truncateSync(path, 60), /./],
] as const) {
  t.test(`a file that is ${what} is refused with its path`, async (t) => {
    const home = t.testdir({ 'mine.gguf': tinyGguf(), models: {} })
    const path = join(home, 'mine.gguf')
    damage(path)
    const error = await filesPorts(join(home, 'models'))
      .fetch(artifactAt(path), quiet)
      .catch((it: LlmgwError) => it)
    t.match(error, { code: 'LLMGW_GGUF_INVALID', details: { path, problem } })
    t.ok(existsSync(path), "the operator's file stays")
    t.same(await filesPorts(join(home, 'models')).scan(), [])
  })
}

t.test('what a crash left half is removed, but not what can be resumed', async (t) => {
  const dir = t.testdir({
    half: { '.source-0': { got: { 'x.whl': 'part of a wheel' } } },
    resumable: { '.source-0': { part: 'so far', origin: '{}' } },
    damaged: { 'record.json': '{', 'tiny.gguf': 'whole, perhaps' },
  })
  t.same(await filesPorts(dir).scan(), [])
  t.same(readdirSync(dir).sort(), ['damaged', 'resumable'])
})

t.test('engines of other users can read what is there, whatever the umask', async (t) => {
  const home = t.testdir({ 'mine.gguf': tinyGguf() })
  const dir = join(home, 'models')
  const before = process.umask(0o077)
  t.teardown(() => process.umask(before))
  mkdirSync(dir)
  const ports = filesPorts(dir)
  await ports.scan()
  const got = await ports.fetch(artifactAt(join(home, 'mine.gguf')), quiet)
  t.equal(statSync(dir).mode & 0o777, 0o755)
  t.equal(statSync(join(dir, got.key)).mode & 0o777, 0o755)
  t.ok(readFileSync(join(dir, got.key, 'record.json')))
})

t.test('a release ends what runs, waits for it, and leaves the ports usable', async (t) => {
  const home = t.testdir({ 'mine.gguf': tinyGguf(), models: {} })
  const ports = filesPorts(join(home, 'models'))
  const { sources: _, ...rest } = artifactAt('/x')
  const silent = { kind: 'https', url: 'http://192.0.2.1/tiny.gguf' } as const
  const fetching = ports
    .fetch({ ...rest, sources: [silent] }, quiet)
    .catch((error: Error) => error.message)
  await ports.release()
  t.match(await fetching, /stopping/)
  t.ok(await ports.fetch(artifactAt(join(home, 'mine.gguf')), quiet))
})
