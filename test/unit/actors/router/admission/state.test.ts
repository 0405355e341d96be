// The keys that a router knows, by table.
import t from 'tap'
import type { Message } from '../../../../../actors/router/admission/protocol.ts'
import { init, transition } from '../../../../../actors/router/admission/state.ts'

const key = (id: string) => ({ id, name: id, scope: 'root' })
const entries = (given: Record<string, unknown>) =>
  new Map(Object.entries(given).map(([name, value]) => [name, { value }]))

/** What is published after the messages, and the warnings of the last. */
function after(...messages: Message[]) {
  let [state] = init()
  let warnings: unknown[] = []
  let published = state.keys
  for (const message of messages) {
    const [next, effects] = transition(state, message)
    state = next
    warnings = effects.filter((it) => it.do === 'warn')
    for (const effect of effects) if (effect.do === 'publish') published = effect.keys
  }
  return { keys: Object.fromEntries(published), warnings }
}

const listed: Message = {
  type: 'listed',
  revision: 3,
  entries: entries({ 'key.aa': key('a'), 'key.bb': key('b'), 'route.r': {}, 'model.m': {} }),
}

t.test('keys follow the mirror, other entries are not its affair', async (t) => {
  t.same(after(listed).keys, { aa: key('a'), bb: key('b') })
  const put: Message = { type: 'put', entry: { key: 'key.cc', value: key('c'), revision: 4 } }
  t.same(after(listed, put).keys, { aa: key('a'), bb: key('b'), cc: key('c') })
  const other: Message = { type: 'put', entry: { key: 'route.x', value: {}, revision: 4 } }
  t.same(after(listed, other).keys, { aa: key('a'), bb: key('b') })
  t.same(after(listed, { type: 'deleted', key: 'key.aa', revision: 4 }).keys, { bb: key('b') })
  t.same(after(listed, { type: 'deleted', key: 'route.aa', revision: 4 }).keys, after(listed).keys)
  t.same(after(listed, { type: 'listed', entries: new Map(), revision: 9 }).keys, {})
})

t.test('a revoked key is gone at once and stays so, whatever older lists hold', async (t) => {
  const revoked: Message = { type: 'revoked', sha256: 'aa' }
  t.same(after(listed, revoked).keys, { bb: key('b') })
  t.same(after(listed, revoked, listed).keys, { bb: key('b') })
  t.same(after(revoked, listed).keys, { bb: key('b') })
  t.same(transition(init()[0], revoked)[1], [], 'nothing is published before all are told')
})

t.test('an entry that cannot be read is told and lets nobody in', async (t) => {
  const put: Message = { type: 'put', entry: { key: 'key.cc', value: { id: 7 }, revision: 4 } }
  const { keys, warnings } = after(listed, put)
  t.same(keys, after(listed).keys)
  t.match(warnings, [{ key: 'key.cc' }])
})
