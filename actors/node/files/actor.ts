// The keeper of a node's model files: what it needs of the world, and how its effects are performed.
import type { Behaviour } from '../../../kernel/actor.ts'
import { messageOf, toFailure } from '../../../kernel/errors.ts'
import type { Artifact } from '../../../transport/contract/artifact.ts'
import type { NodeFile, Progress } from '../../../transport/contract/node.ts'
import type { Event, FetchedFile, Message } from './protocol.ts'
import { type Effect, init, type State, transition } from './state.ts'

export interface Ports {
  /** The files that are whole, as recorded when they were fetched. Throws where the folder cannot be read. */
  scan(): Promise<NodeFile[]>
  /** Answers once the file is in place, checked and recorded; one that is there already is not fetched. Throws errors of the catalogue. */
  fetch(artifact: Artifact, onProgress: (progress: Progress) => void): Promise<FetchedFile>
  /** Ends the fetches that run; resolves when none writes any more. */
  release(): Promise<void>
}

export const filesKeeper = (
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
      case 'scan':
        return void ports.scan().then(
          (files) => self.tell({ type: 'scanned', files }),
          (error) => self.tell({ type: 'unscanned', reason: messageOf(error) }),
        )
      case 'fetch': {
        const { key, attempt, artifact } = effect
        const onProgress = (progress: Progress): void => {
          self.tell({ type: 'progressed', key, attempt, progress })
        }
        return void ports.fetch(artifact, onProgress).then(
          (file) => self.tell({ type: 'fetched', key, attempt, file }),
          (error) => {
            const details = { artifact: `${artifact.name} ${artifact.version}` }
            const failure = toFailure(error, 'LLMGW_FETCH_FAILED', details)
            self.tell({ type: 'missed', key, attempt, failure })
          },
        )
      }
    }
  },
  stopped: () => ports.release(),
})
