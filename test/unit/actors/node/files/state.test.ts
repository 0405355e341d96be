// Which files are fetched, and who is told: every message in every phase.
import t from 'tap'
import {
  type FetchEvent,
  type FetchedFile,
  fileKey,
  type Message,
} from '../../../../../actors/node/files/protocol.ts'
import {
  type Effect,
  init,
  type State,
  transition,
} from '../../../../../actors/node/files/state.ts'
import { failure } from '../../../../../kernel/errors.ts'
import type { Artifact } from '../../../../../transport/contract/artifact.ts'
import type { NodeFile } from '../../../../../transport/contract/node.ts'

const artifact: Artifact = {
  name: 'tiny',
  version: '1',
  platform: 'any',
  licence: 'MIT',
  fileName: 'tiny.gguf',
  executable: false,
  sources: [{ kind: 'path', path: '/tiny.gguf' }],
}
const key = fileKey(artifact)
const file: FetchedFile = { key, path: '/tiny.gguf', sizeBytes: 7, sha256: null, header: null }
const listed: NodeFile = { key, sizeBytes: 7, sha256: null, header: null, failure: null }
const old: NodeFile = { ...listed, key: 'old' }
const progress = { what: 'fetching tiny', doneBytes: 1, totalBytes: 7, bytesPerSecond: null }
const broken = failure('LLMGW_FETCH_FAILED', { artifact: 'tiny', problem: 'no' })
const one = (_: FetchEvent): void => {}
const two = (_: FetchEvent): void => {}
const ask = (replyTo: typeof one): Message => ({ type: 'fetch', artifact, replyTo })
const fetched = (attempt: number): Message => ({ type: 'fetched', key, attempt, file })
const missed = (attempt: number): Message => ({ type: 'missed', key, attempt, failure: broken })
const progressed = (attempt: number): Message => ({ type: 'progressed', key, attempt, progress })

function after(...messages: Message[]): readonly [State, readonly Effect[]] {
  let step = init()
  for (const message of messages) step = transition(step[0], message)
  return step
}
const scanned: Message = { type: 'scanned', files: [old] }
const unscanned: Message = { type: 'unscanned', reason: 'no folder' }
const changed = (...files: NodeFile[]): Effect => ({ do: 'say', event: { type: 'changed', files } })
const told = (to: typeof one, event: FetchEvent): Effect => ({ do: 'tell', to, event })

t.test('it begins by looking at what is there', async (t) => {
  t.same(init()[1], [{ do: 'scan' }])
})

t.test('ND6: what the scan found is told at once', async (t) => {
  t.same(after(scanned)[1], [changed(old)])
})

t.test('what is asked before the scan is over waits for it, and is fetched once', async (t) => {
  t.same(after(ask(one))[1], [])
  const [, effects] = after(ask(one), ask(two), scanned)
  t.same(effects, [changed(old), { do: 'fetch', key, attempt: 1, artifact }])
})

t.test('a folder that cannot be read is a crash, to be looked at again', async (t) => {
  t.throws(() => after(unscanned), /no folder/)
})

t.test('facts of an incarnation before are not taken for answers', async (t) => {
  for (const fact of [fetched(1), missed(1), progressed(1)]) {
    t.same(after(fact), [{ phase: 'scanning', asked: [] }, []])
    t.same(after(scanned, fact)[1], [], `${fact.type} without a job`)
    t.same(after(scanned, ask(one), { ...fact, attempt: 9 } as Message)[1], [], 'another attempt')
  }
  for (const late of [scanned, unscanned]) t.same(after(scanned, late)[1], [])
})

t.test(
  'ND7: who asks for a file that is under way shares its fetch, progress included',
  async (t) => {
    t.same(after(scanned, ask(one), ask(two))[1], [])
    t.same(after(scanned, ask(one), progressed(1))[1], [told(one, { type: 'progress', progress })])
    t.same(after(scanned, ask(one), progressed(1), ask(two))[1], [
      told(two, { type: 'progress', progress }),
    ])
  },
)

t.test('ND7: the end is told to all that asked, and the list with the file', async (t) => {
  const [state, effects] = after(scanned, ask(one), ask(two), fetched(1))
  const done: FetchEvent = { type: 'done', file }
  t.same(effects, [told(one, done), told(two, done), changed(old, listed)])
  t.same(transition(state, fetched(1))[1], [], 'told once')
})

t.test('a failure is told and stands in the list until a later fetch succeeds', async (t) => {
  const [state, effects] = after(scanned, ask(one), missed(1))
  const absent: NodeFile = { ...listed, sizeBytes: null, failure: broken }
  t.same(effects, [told(one, { type: 'failed', failure: broken }), changed(old, absent)])
  const [again, begun] = transition(state, ask(two))
  t.same(begun, [{ do: 'fetch', key, attempt: 2, artifact }])
  t.same(transition(again, missed(1))[1], [], 'the end of the first is not that of the second')
  t.same(transition(again, fetched(2))[1].at(-1), changed(old, listed))
})

t.test('a file that is there is asked of the disk again, which may have lost it', async (t) => {
  const [, effects] = after(scanned, ask(one), fetched(1), ask(one))
  t.same(effects, [{ do: 'fetch', key, attempt: 2, artifact }])
})
