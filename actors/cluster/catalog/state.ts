// The models that are wanted: checked, kept, and told to those who place them.
import { engineByName } from '../../../engines/index.ts'
import { type Failure, failure } from '../../../kernel/errors.ts'
import { type Step, stay } from '../../../kernel/step.ts'
import { modelSchema } from '../../../transport/contract/model.ts'
import { firstIssue } from '../../../transport/contract/problem.ts'
import type { CatalogModel, Command, Done, Message, Models } from './protocol.ts'

type Ready = { phase: 'ready'; models: Models }
export type State = { phase: 'loading' } | Ready
type Of<T extends Message['type']> = Extract<Message, { type: T }>

export type Effect =
  /** Read all models: `loaded` or `unloaded`. */
  | { do: 'load' }
  /** `stored` or `unstored`; whoever asked is answered then. */
  | { do: 'store'; model: CatalogModel; replyTo: Done | null }
  | { do: 'remove'; model: string; replyTo: Done }
  | { do: 'refuse'; failure: Failure; replyTo: Done }
  /** Tell those who decide. */
  | { do: 'tell'; models: Models }

export const init = (): Step<State, Effect> => [{ phase: 'loading' }, [{ do: 'load' }]]

export function transition(state: State, message: Message): Step<State, Effect> {
  switch (message.type) {
    case 'loaded':
      return tell(new Map(message.models.map((it) => [it.definition.name, it])))
    case 'unloaded':
    case 'unstored':
      // a crash: all is read anew within the restart budget
      throw new Error(message.reason)
    default:
  }
  if (state.phase === 'loading') {
    return 'replyTo' in message
      ? refuse(state, failure('LLMGW_NO_LEADER'), message.replyTo)
      : stay(state)
  }
  return ready(state, message)
}

function ready(state: Ready, message: Command | Of<'stored'>): Step<State, Effect> {
  const { models } = state
  switch (message.type) {
    case 'add':
      return add(models, message)
    case 'remove': {
      const { model, replyTo } = message
      if (!models.has(model))
        return refuse(state, failure('LLMGW_MODEL_UNKNOWN', { model }), replyTo)
      const rest = new Map(models)
      rest.delete(model)
      return [{ phase: 'ready', models: rest }, [{ do: 'remove', model, replyTo }]]
    }
    case 'learnt': {
      const before = models.get(message.model)
      if (before === undefined || before.header !== null) return stay(state)
      return keep(models, { ...before, header: message.header }, null)
    }
    case 'stored':
      return tell(models)
  }
}

function add(models: Models, message: Of<'add'>): Step<State, Effect> {
  const { at, replyTo } = message
  const wrong = (what: { field: string; problem: string }): Step<State, Effect> =>
    refuse({ phase: 'ready', models }, failure('LLMGW_DEFINITION_INVALID', what), replyTo)
  const parsed = modelSchema.safeParse(message.definition)
  if (!parsed.success) return wrong(firstIssue(parsed.error))
  const { data: definition } = parsed
  const { name: model, engine } = definition
  if (engineByName(engine) === undefined) {
    return wrong({ field: 'engine', problem: `no engine is called "${engine}"` })
  }
  if (models.has(model)) {
    return refuse({ phase: 'ready', models }, failure('LLMGW_MODEL_EXISTS', { model }), replyTo)
  }
  return keep(models, { definition, createdAt: at, header: definition.header ?? null }, replyTo)
}

function keep(models: Models, model: CatalogModel, replyTo: Done | null): Step<State, Effect> {
  const next = new Map(models).set(model.definition.name, model)
  return [{ phase: 'ready', models: next }, [{ do: 'store', model, replyTo }]]
}

const tell = (models: Models): Step<State, Effect> => [
  { phase: 'ready', models },
  [{ do: 'tell', models }],
]

const refuse = (state: State, why: Failure, replyTo: Done): Step<State, Effect> => [
  state,
  [{ do: 'refuse', failure: why, replyTo }],
]
