// The installer of a node's engines: what it needs of the world, and how its effects are performed.
import type { Behaviour } from '../../../kernel/actor.ts'
import { messageOf, toFailure } from '../../../kernel/errors.ts'
import type { Progress } from '../../../transport/contract/node.ts'
import type { Event, Message, Ready, Verdict } from './protocol.ts'
import { type Effect, type InstallRequest, init, type State, transition } from './state.ts'

export interface Ports {
  /** What was remembered last; nothing on a new machine. */
  recall(): Promise<readonly Verdict[]>
  /** Keeps the list over restarts. Writes in the order of its calls. */
  remember(verdicts: readonly Verdict[]): Promise<void>
  /** Answers once a build can be started; one that is there already is not installed again. Throws errors of the catalogue. */
  install(request: InstallRequest, onProgress: (progress: Progress) => void): Promise<Ready>
  /** Ends the installs that run; resolves when none writes any more. */
  release(): Promise<void>
  /** Told what failed and is not worth failing for. */
  warn(text: string): void
}

export const provisioner = (
  ports: Ports,
  tellOwner: (event: Event) => void,
): Behaviour<State, Message, Effect> => ({
  init,
  transition,
  perform(effect, self) {
    switch (effect.do) {
      case 'say':
        return tellOwner(effect.event)
      case 'tell':
        return effect.to(effect.event)
      case 'recall':
        return void ports.recall().then(
          (verdicts) => self.tell({ type: 'recalled', verdicts }),
          (error) => self.tell({ type: 'unrecalled', reason: messageOf(error) }),
        )
      case 'remember':
        return void ports
          .remember(effect.verdicts)
          .catch((error) => ports.warn(`what is known of engines is not kept: ${messageOf(error)}`))
      case 'install': {
        const { engine, attempt } = effect
        const onProgress = (progress: Progress): void => {
          self.tell({ type: 'progressed', engine, attempt, progress })
        }
        return void ports.install(effect, onProgress).then(
          (ready) => self.tell({ type: 'installed', engine, attempt, ready }),
          (error) => {
            const details = { engine, tried: messageOf(error) }
            const failure = toFailure(error, 'LLMGW_INSTALL_FAILED', details)
            self.tell({ type: 'missed', engine, attempt, failure })
          },
        )
      }
    }
  },
  stopped: () => ports.release(),
})
