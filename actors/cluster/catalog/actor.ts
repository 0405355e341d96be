// The catalog: what it needs of the world, and how its effects are performed.
import type { Behaviour, Self } from '../../../kernel/actor.ts'
import { messageOf, toFailure } from '../../../kernel/errors.ts'
import type { CatalogModel, Done, Message, Models } from './protocol.ts'
import { type Effect, init, type State, transition } from './state.ts'

export interface Ports {
  /** From now on requests of administration are told to `self`; the returned function ends that. */
  listen(self: Self<Message>): () => void
  load(): Promise<CatalogModel[]>
  store(model: CatalogModel): Promise<void>
  remove(model: string): Promise<void>
}

/** Tells `onChange` all models once they are read and whenever the store has a change. */
export function catalog(
  ports: Ports,
  onChange: (models: Models) => void,
): Behaviour<State, Message, Effect> {
  let silence = () => {}
  const write = (written: Promise<void>, self: Self<Message>, replyTo: Done | null): void =>
    void written.then(
      () => {
        replyTo?.({ ok: true, value: { done: true } })
        self.tell({ type: 'stored' })
      },
      (error) => {
        replyTo?.({
          ok: false,
          error: toFailure(error, 'LLMGW_STORE_FAILED', { key: 'the model' }),
        })
        self.tell({ type: 'unstored', reason: messageOf(error) })
      },
    )
  return {
    init,
    transition,
    perform(effect, self) {
      switch (effect.do) {
        case 'load':
          silence = ports.listen(self)
          return void ports.load().then(
            (models) => self.tell({ type: 'loaded', models }),
            (error) => self.tell({ type: 'unloaded', reason: messageOf(error) }),
          )
        case 'store':
          return write(ports.store(effect.model), self, effect.replyTo)
        case 'remove':
          return write(ports.remove(effect.model), self, effect.replyTo)
        case 'refuse':
          return effect.replyTo({ ok: false, error: effect.failure })
        case 'tell':
          return onChange(effect.models)
      }
    },
    async stopped() {
      silence()
    },
  }
}
