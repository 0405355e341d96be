// The installer as an actor, over ports that the test answers.
import t from 'tap'
import { type Ports, provisioner } from '../../../../../actors/node/provision/actor.ts'
import type { Event, ProvisionEvent, Ready } from '../../../../../actors/node/provision/protocol.ts'
import { LlmgwError } from '../../../../../kernel/errors.ts'
import { lab, settle, specOf } from '../../../../support/actors.ts'

const ready: Ready = { version: 'x 1', argv: ['/python', 'launcher.py'], note: null }
const progress = { what: 'fetching uv', doneBytes: 1, totalBytes: 2, bytesPerSecond: 3 }
const engine = 'llamacpp'

function installer(change: Partial<Ports>) {
  const { system, crashes } = lab()
  const events: Event[] = []
  const warnings: string[] = []
  const calls: string[] = []
  const ports: Ports = {
    recall: async () => [],
    remember: async (verdicts) => void calls.push(verdicts.map((it) => it.state).join()),
    install: async (_, onProgress) => {
      onProgress(progress)
      return ready
    },
    release: async () => void calls.push('released'),
    warn: (text) => warnings.push(text),
    ...change,
  }
  const ref = system.spawn(
    specOf(
      'provision',
      provisioner(ports, (event) => events.push(event)),
    ),
  )
  const ask = (): ProvisionEvent[] => {
    const told: ProvisionEvent[] = []
    ref.tell({ type: 'ensure', engine, replyTo: (event) => told.push(event) })
    return told
  }
  return { system, crashes, events, warnings, calls, ref, ask }
}

t.test('who asks is told progress and how to start it; verdicts are kept', async (t) => {
  const it = installer({})
  const told = it.ask()
  await settle()
  it.ref.tell({ type: 'proved', engine })
  await settle()
  t.match(told, [
    { type: 'progress', progress },
    { type: 'ready', argv: ready.argv },
  ])
  t.match(it.events.at(-1), { installs: [{ engine, version: 'x 1', state: 'proven' }] })
  await it.system.stop()
  t.same(it.calls, ['unproven', 'proven', 'released'])
})

t.test('errors of the catalogue keep their code, others get one', async (t) => {
  for (const [error, code] of [
    [new LlmgwError('LLMGW_DISK_FULL', { path: '/' }), 'LLMGW_DISK_FULL'],
    [new Error('no such folder'), 'LLMGW_INSTALL_FAILED'],
  ] as const) {
    const it = installer({ install: () => Promise.reject<Ready>(error) })
    const told = it.ask()
    await settle()
    t.match(told, [{ type: 'failed', failure: { code } }])
    await it.system.stop()
  }
})

t.test('what cannot be kept is warned of and hinders nobody', async (t) => {
  const it = installer({ remember: () => Promise.reject(new Error('the disk is full')) })
  const told = it.ask()
  await settle()
  t.match(told.at(-1), { type: 'ready' })
  t.match(it.warnings, [/not kept: the disk is full/])
  await it.system.stop()
})

t.test('what cannot be recalled is a crash with the reason', async (t) => {
  const it = installer({ recall: () => Promise.reject(new Error('no permission')) })
  await settle()
  t.match(it.crashes, [{ error: /no permission/ }])
  await it.system.stop()
})
