// The keeper of one replica's part on this node: its engine from start to adoption, and its end.
import type { Behaviour, ChildSpec, Ref, Self } from '../../kernel/actor.ts'
import { LlmgwError, toFailure } from '../../kernel/errors.ts'
import type { Message as FilesMessage } from '../node/files/protocol.ts'
import type { Message as ProvisionMessage } from '../node/provision/protocol.ts'
import type { Event as ProcessEvent, Message as ProcessMessage } from '../process/protocol.ts'
import type { Effect, Setting, State, Target } from './phases.ts'
import type { Event, Measure, Message, Place, Readiness, Saved, ShardSpec } from './protocol.ts'
import { init, transition } from './state.ts'
import { told } from './status.ts'

/** What a shard needs of the world: its run folder, its engine's port, and its neighbours. */
export interface Ports extends Setting {
  readonly files: Pick<Ref<FilesMessage>, 'tell'>
  readonly provision: Pick<Ref<ProvisionMessage>, 'tell'>
  /** How the keeper of the engine's process is made; it has no restarts of its own. */
  process(
    replica: string,
    tell: (event: ProcessEvent) => void,
  ): ChildSpec<unknown, ProcessMessage, unknown>
  /** What was saved last; null where there is nothing that can be used. */
  recall(replica: string): Saved | null
  /** Throws where it cannot be kept. */
  save(saved: Saved): void
  /** A free port outside the kernel's own range, a private folder, and the user that owns it. Throws where that user may not read the model. */
  reserve(replica: string, modelPath: string): Promise<Place>
  /** Asks an engine whether it serves its model, with deadlines of its own. Never fails. */
  probe(target: Target): Promise<Readiness>
  /** One look at a ready engine. Never fails. */
  measure(target: Target, pid: number): Promise<Measure>
  /** Asks a ready engine for one token, with a deadline of its own; whether it came. Never fails. */
  tryToken(target: Target): Promise<boolean>
  /** The last lines of the log without `key`, and whether somebody listens on the port. */
  examine(
    replica: string,
    about: { port: number | null; key: string },
  ): Promise<{ lines: readonly string[]; portTaken: boolean }>
  /** Removes the run folder and the engine's own. */
  wipe(replica: string): Promise<void>
}

/** The shard that `spec` describes; it looks for its process first. */
export const shard = (
  ports: Ports,
  spec: ShardSpec,
  tellOwner: (event: Event) => void,
): Behaviour<State, Message, Effect> => {
  const { replica } = spec
  let keeper: Ref<ProcessMessage> | undefined
  return {
    init: () => init(spec),
    transition: (state, message) => told(ports.host, state, transition(ports, state, message)),
    perform(effect, self) {
      switch (effect.do) {
        case 'say':
          return tellOwner(effect.event)
        case 'find':
          self.tell({ type: 'recalled', saved: ports.recall(replica) })
          keeper = self.spawn(
            ports.process(replica, (event) => void self.tell({ type: 'process', event })),
          )
          return
        case 'ensure':
        case 'fetch':
          return askNeighbour(ports, effect, self)
        case 'reserve': {
          const { attempt, modelPath } = effect
          return void ports.reserve(replica, modelPath).then(
            (place) => self.tell({ type: 'reserved', attempt, place }),
            (error) => setBack(self, attempt, error),
          )
        }
        case 'launch':
          try {
            ports.save(effect.saved)
          } catch (error) {
            return setBack(self, effect.attempt, error)
          }
          keeper?.tell({ type: 'start', spec: effect.process })
          return
        case 'wait':
          return self.after(effect.delayMs, effect.message)
        case 'probe': {
          const { attempt, target } = effect
          return void ports
            .probe(target)
            .then((readiness) => self.tell({ type: 'probed', attempt, readiness }))
        }
        case 'measure': {
          const { attempt, target, pid } = effect
          return void ports
            .measure(target, pid)
            .then((measure) => self.tell({ type: 'measured', attempt, at: self.now(), measure }))
        }
        case 'try': {
          const { attempt, target } = effect
          return void ports
            .tryToken(target)
            .then((token) => self.tell({ type: 'tried', attempt, at: self.now(), token }))
        }
        case 'examine': {
          const { attempt } = effect
          return void ports
            .examine(replica, effect)
            .then((seen) => self.tell({ type: 'examined', attempt, at: self.now(), ...seen }))
        }
        case 'prove':
          ports.provision.tell({ type: 'proved', engine: effect.engine })
          return
        case 'refuse':
          ports.provision.tell({ type: 'refused', engine: effect.engine, reason: effect.reason })
          return
        case 'end':
          keeper?.tell({ type: 'stop' })
          return
        case 'wipe':
          return void ports.wipe(replica).then(() => self.tell({ type: 'wiped' }))
        case 'finish':
          return self.end()
      }
    },
  }
}

/** Asks for the engine or the file; a neighbour that has no room for the wish is a setback. */
function askNeighbour(
  ports: Ports,
  effect: Extract<Effect, { do: 'ensure' | 'fetch' }>,
  self: Self<Message>,
): void {
  const { attempt } = effect
  const taken =
    effect.do === 'ensure'
      ? ports.provision.tell({
          type: 'ensure',
          engine: effect.engine,
          replyTo: (event) => void self.tell({ type: 'engine', attempt, at: self.now(), event }),
        })
      : ports.files.tell({
          type: 'fetch',
          artifact: effect.artifact,
          replyTo: (event) => void self.tell({ type: 'file', attempt, at: self.now(), event }),
        })
  const actor = effect.do === 'ensure' ? 'provision' : 'files'
  if (!taken) setBack(self, attempt, new LlmgwError('LLMGW_MAILBOX_FULL', { actor }))
}

function setBack(self: Self<Message>, attempt: number, error: unknown): void {
  const failure = toFailure(error, 'LLMGW_LAUNCH_FAILED', { program: 'the engine' })
  self.tell({ type: 'setback', attempt, at: self.now(), failure })
}
