// Definitions out of what an operator names.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import t from 'tap'
import { definitionFrom, definitionOf } from '../../../bin/definition.ts'

t.test('a preset is known by its name, and wishes go over it', async (t) => {
  const plain = definitionOf('smollm2-135m', {})
  t.equal(plain.name, 'smollm2-135m')
  t.equal(plain.replicas, 1)
  const wished = definitionOf('smollm2-135m', { name: 'mine', slots: 2, replicas: 3 })
  t.match(wished, { name: 'mine', replicas: 3, profile: { slots: 2 } })
  t.same(wished.artifact, plain.artifact)
})

t.test('a path is taken as it lies, an address is fetched', async (t) => {
  const local = definitionOf('models/Phi 4.gguf', {})
  t.equal(local.name, 'Phi-4')
  t.same(local.artifact.sources, [{ kind: 'path', path: resolve('models/Phi 4.gguf') }])
  const remote = definitionOf('https://example.org/a/phi.gguf?x=1', { sha256: 'a'.repeat(64) })
  t.equal(remote.name, 'phi')
  t.match(remote.artifact, { sha256: 'a'.repeat(64), fileName: 'phi.gguf' })
})

t.test('two files of one name are two artifacts', async (t) => {
  const [one, other] = ['/a/m.gguf', '/b/m.gguf'].map((it) => definitionOf(it, {}).artifact.version)
  t.not(one, other)
})

t.test('what is no source, and wishes that make no sense, name the field (CL4)', async (t) => {
  t.throws(() => definitionOf('phi', {}), /at source: "phi" is neither a preset/)
  t.throws(() => definitionOf('https://', {}), /at source/)
  t.throws(() => definitionOf('/a.gguf', { name: 'a b' }), /at name: must start/)
  t.throws(() => definitionOf('/a.gguf', { contextTokens: 1 }), /at profile.contextTokens/)
})

t.test('a file holds a whole definition, and what is wrong in it is named', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'llmgw-'))
  t.teardown(() => rmSync(dir, { recursive: true }))
  const file = join(dir, 'm.yaml')
  writeFileSync(file, JSON.stringify(definitionOf('smollm2-135m', {})))
  t.same(definitionFrom(file), definitionOf('smollm2-135m', {}))
  writeFileSync(file, 'name: x\nengine: llamacpp\nartifact: 3\n')
  t.throws(() => definitionFrom(file), /at artifact/)
  t.throws(() => definitionFrom(join(dir, 'none')), /none/)
})
