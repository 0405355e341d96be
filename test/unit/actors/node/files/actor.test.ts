// The keeper of files as an actor, over ports that the test answers.
import t from 'tap'
import { filesKeeper, type Ports } from '../../../../../actors/node/files/actor.ts'
import type { Event, FetchEvent, FetchedFile } from '../../../../../actors/node/files/protocol.ts'
import { LlmgwError } from '../../../../../kernel/errors.ts'
import type { Artifact } from '../../../../../transport/contract/artifact.ts'
import { lab, settle, specOf } from '../../../../support/actors.ts'

const artifact: Artifact = {
  name: 'tiny',
  version: '1',
  platform: 'any',
  licence: 'MIT',
  fileName: 'tiny.gguf',
  executable: false,
  sources: [{ kind: 'path', path: '/tiny.gguf' }],
}
const progress = { what: 'fetching tiny', doneBytes: 1, totalBytes: 2, bytesPerSecond: 3 }

function keeper(fetch: Ports['fetch'], scan: Ports['scan'] = async () => []) {
  const { system, crashes } = lab()
  const events: Event[] = []
  let released = 0
  const ports: Ports = {
    scan,
    fetch,
    async release() {
      released += 1
    },
  }
  const ref = system.spawn(
    specOf(
      'files',
      filesKeeper(ports, (event) => events.push(event)),
    ),
  )
  const ask = (): FetchEvent[] => {
    const told: FetchEvent[] = []
    ref.tell({ type: 'fetch', artifact, replyTo: (event) => told.push(event) })
    return told
  }
  return { system, crashes, events, ask, released: () => released }
}

t.test('who asks is told progress and the end, the owner the list', async (t) => {
  const it = keeper(async ({ name }, onProgress) => {
    onProgress(progress)
    return { key: name, path: '/tiny.gguf', sizeBytes: 7, sha256: null, header: null }
  })
  const told = it.ask()
  await settle()
  t.match(told, [
    { type: 'progress', progress },
    { type: 'done', file: { path: '/tiny.gguf' } },
  ])
  t.match(it.events, [{ files: [] }, { files: [{ key: 'tiny', failure: null }] }])
  await it.system.stop()
  t.equal(it.released(), 1)
})

t.test('errors of the catalogue keep their code, others get one', async (t) => {
  for (const [error, code] of [
    [new LlmgwError('LLMGW_DISK_FULL', { path: '/' }), 'LLMGW_DISK_FULL'],
    [new Error('no such folder'), 'LLMGW_FETCH_FAILED'],
  ] as const) {
    const it = keeper(() => Promise.reject<FetchedFile>(error))
    const told = it.ask()
    await settle()
    t.match(told, [{ type: 'failed', failure: { code } }])
    await it.system.stop()
  }
})

t.test('a folder that cannot be read is a crash with the reason', async (t) => {
  const it = keeper(
    () => new Promise(() => {}),
    () => Promise.reject(new Error('no permission')),
  )
  await settle()
  t.match(it.crashes, [{ error: /no permission/ }])
  await it.system.stop()
})
