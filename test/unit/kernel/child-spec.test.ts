// Child specs: the wrong field is named before anything starts.
import t from 'tap'
import { type AnySpec, checkSpec } from '../../../kernel/child-spec.ts'
import { doer, lab, specOf } from '../../support/actors.ts'

t.test('each wrong field is named with the path of its child', async (t) => {
  const wrong: [string, object][] = [
    ['name', { name: '' }],
    ['behaviour.init', { behaviour: { ...doer(), init: undefined } }],
    ['restart', { restart: 'always' }],
    ['strategy', { strategy: 'one-for-all' }],
    ['intensity', { intensity: -1 }],
    ['intensity', { intensity: 1.5 }],
    ['periodMs', { periodMs: 0 }],
    ['delayMs.min', { delayMs: { min: -1, max: 1 } }],
    ['delayMs.max', { delayMs: { min: 2, max: 1 } }],
    ['delayMs.min', { delayMs: undefined }],
    ['capacity', { capacity: 0 }],
    ['overflow', { overflow: 'drop-newest' }],
    ['stopMs', { stopMs: Number.NaN }],
    ['children', { children: [specOf('x', doer()), specOf('x', doer())] }],
  ]
  for (const [field, change] of wrong) {
    const spec = { ...specOf('a', doer()), ...change } as AnySpec
    const message = `child /p/${spec.name}: ${field} must be`
    t.throws(() => checkSpec(spec, '/p'), { message: new RegExp(`^${message}`) }, field)
  }
  t.doesNotThrow(() => checkSpec(specOf('a', doer()), ''))
})

t.test('a wrong grandchild is found before its grandparent starts', async (t) => {
  const { system } = lab()
  const child = specOf('b', doer(), { children: [specOf('c', doer(), { capacity: 0 })] })
  const parent = specOf(
    'a',
    doer(() => t.fail('started')),
    { children: [child] },
  )
  t.throws(() => system.spawn(parent), /^child \/a\/b\/c: capacity/)
  await system.stop()
})

t.test('an address is for one actor of its name and system', async (t) => {
  const { system } = lab()
  const at = system.address<never>('a')
  t.notOk(at.tell({} as never), 'refuses while nothing runs there')
  t.throws(() => system.spawn(specOf('b', doer(), { at })), /at must be made by this system/)
  t.throws(() => lab().system.spawn(specOf('a', doer(), { at })), /at must be made by this system/)
  t.equal(system.spawn(specOf('a', doer(), { at })), at)
  t.throws(() => system.spawn(specOf('a', doer())), /name is that of another child/)
  await system.stop()
  t.throws(() => system.spawn(specOf('c', doer())), /the system has stopped/)
})
