// A node's agent: registers with the leader, reports its parts, and hands commands to them.
import type { Behaviour, Ref, Self } from '../../kernel/actor.ts'
import { messageOf } from '../../kernel/errors.ts'
import type { Outcome } from '../../transport/contract/envelope.ts'
import type { NodeReport, Registration } from '../../transport/contract/node.ts'
import type { Message as FilesMessage } from './files/protocol.ts'
import type { Identity, Message } from './protocol.ts'
import type { Message as ShardsMessage } from './shards/protocol.ts'
import { type Effect, init, type State, transition } from './state.ts'

/** What the agent needs of the world. */
export interface Ports {
  readonly files: Pick<Ref<FilesMessage>, 'tell'>
  readonly shards: Pick<Ref<ShardsMessage>, 'tell'>
  /** Hands over commands, and tells whenever the connection to the cluster comes and goes; ends what an earlier call began. */
  listen(self: Self<Message>): void
  register(registration: Registration): Promise<Outcome<{ token: number }>>
  report(report: NodeReport): void
  /** Highest token that was kept; 0 where none was. */
  recallToken(): number
  /** Throws where it cannot be kept. */
  keepToken(token: number): void
  /** Last lines of a shard's log without secrets. */
  logs(replica: string, lines: number): Outcome<{ lines: string[] }>
  warn(text: string): void
  release(): void
}

export const nodeAgent = (ports: Ports, identity: Identity): Behaviour<State, Message, Effect> => ({
  init: () => init(identity),
  transition,
  perform(effect, self) {
    switch (effect.do) {
      case 'begin':
        self.tell({ type: 'recalled', token: ports.recallToken() })
        return ports.listen(self)
      case 'wait':
        return self.after(effect.delayMs, effect.message)
      case 'register': {
        const { attempt, registration } = effect
        return void ports
          .register(registration)
          .then((outcome) =>
            self.tell(
              outcome.ok
                ? { type: 'registered', attempt, token: outcome.value.token }
                : { type: 'unregistered', attempt, failure: outcome.error },
            ),
          )
      }
      case 'report':
        return ports.report(effect.report)
      case 'keep-token':
        try {
          ports.keepToken(effect.token)
        } catch (error) {
          ports.warn(`after a restart, commands of earlier leaders may pass: ${messageOf(error)}`)
        }
        return
      case 'shards':
        ports.shards.tell(effect.message)
        return
      case 'files':
        ports.files.tell(effect.message)
        return
      case 'logs':
        return effect.command.replyTo(ports.logs(effect.command.replica, effect.command.lines))
      case 'answer':
        return effect.replyTo(effect.outcome)
    }
  },
  async stopped() {
    ports.release()
  },
})
