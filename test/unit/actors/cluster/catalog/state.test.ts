// Models: how they are added, completed by their header, and removed.
import t from 'tap'
import type { CatalogModel, Message } from '../../../../../actors/cluster/catalog/protocol.ts'
import {
  type Effect,
  init,
  type State,
  transition,
} from '../../../../../actors/cluster/catalog/state.ts'
import { modelOf } from '../../../../support/models.ts'
import { smallHeader } from '../../../../support/simulated-node.ts'

const replyTo = () => {}
const model = (name: string, more: Partial<CatalogModel> = {}): CatalogModel => ({
  definition: modelOf(name),
  createdAt: 1,
  header: smallHeader,
  ...more,
})
function feed(first: State, ...messages: Message[]): [State, readonly Effect[]] {
  let [state, effects]: [State, readonly Effect[]] = [first, []]
  for (const message of messages) [state, effects] = transition(state, message)
  return [state, effects]
}
const loaded = (...models: CatalogModel[]): State => feed(init()[0], { type: 'loaded', models })[0]
const add = (definition: unknown): Message => ({ type: 'add', definition, at: 9, replyTo })

t.test('nothing is answered before the models are read', async (t) => {
  const [state, effects] = init()
  t.same(effects, [{ do: 'load' }])
  t.match(feed(state, add(modelOf()))[1], [{ do: 'refuse', failure: { code: 'LLMGW_NO_LEADER' } }])
  t.match(feed(state, { type: 'remove', model: 'small', replyTo })[1], [{ do: 'refuse' }])
  t.same(feed(state, { type: 'learnt', model: 'small', header: smallHeader }), [state, []])
  const [, told] = feed(state, { type: 'loaded', models: [model('small')] })
  t.match(told, [{ do: 'tell', models: new Map([['small', model('small')]]) }])
})

t.test('what cannot be read or written is a crash', async (t) => {
  t.throws(() => feed(loaded(), { type: 'unloaded', reason: 'broken' }), /broken/)
  t.throws(() => feed(loaded(), { type: 'unstored', reason: 'full' }), /full/)
})

t.test('a model is stored, and told once it is', async (t) => {
  const [state, effects] = feed(loaded(), add(modelOf()))
  t.match(effects, [{ do: 'store', model: { createdAt: 9, header: smallHeader }, replyTo }])
  t.match(feed(state, { type: 'stored' })[1], [{ do: 'tell' }])
  t.match(feed(loaded(), add(modelOf('x', { header: null })))[1], [
    { do: 'store', model: { header: null } },
  ])
})

t.test('a wrong definition is refused by the field that is wrong (CL4)', async (t) => {
  const { engine: _, ...less } = modelOf()
  const wrong: [unknown, string][] = [
    [{ ...modelOf(), name: ' ' }, 'name'],
    [{ ...modelOf(), profile: { contextTokens: 1 } }, 'profile.contextTokens'],
    [{ ...modelOf(), replicas: 1e9 }, 'replicas'],
    [{ ...modelOf(), engine: 'unheard-of' }, 'engine'],
    [less, 'engine'],
    [{ ...modelOf(), args: ['--free'] }, '(whole)'],
    [null, '(whole)'],
  ]
  for (const [definition, field] of wrong) {
    const refusal = { code: 'LLMGW_DEFINITION_INVALID', details: { field } }
    t.match(feed(loaded(), add(definition))[1], [{ do: 'refuse', failure: refusal }], field)
  }
})

t.test('a name is given once, also while the first is being stored', async (t) => {
  const [state] = feed(loaded(), add(modelOf()))
  t.match(feed(state, add(modelOf()))[1], [
    { do: 'refuse', failure: { code: 'LLMGW_MODEL_EXISTS' } },
  ])
})

t.test('a model is removed, and an unknown one refused', async (t) => {
  const [state, effects] = feed(loaded(model('small')), { type: 'remove', model: 'small', replyTo })
  t.match(effects, [{ do: 'remove', model: 'small', replyTo }])
  t.match(feed(state, { type: 'remove', model: 'small', replyTo })[1], [
    { do: 'refuse', failure: { code: 'LLMGW_MODEL_UNKNOWN' } },
  ])
})

t.test('a header is learnt once', async (t) => {
  const learnt: Message = { type: 'learnt', model: 'small', header: smallHeader }
  const [state, effects] = feed(loaded(model('small', { header: null })), learnt)
  t.match(effects, [{ do: 'store', model: { header: smallHeader }, replyTo: null }])
  t.same(feed(state, learnt), [state, []])
  t.same(feed(loaded(), learnt)[1], [])
})
