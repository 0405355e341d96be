// Who is there: nodes that registered, what they and the routers reported last, and when.
import { failure } from '../../../kernel/errors.ts'
import { type Step, stay } from '../../../kernel/step.ts'
import type { Outcome } from '../../../transport/contract/envelope.ts'
import type { NodeReport, RouterReport } from '../../../transport/contract/node.ts'
import type {
  Command,
  Heard,
  Member,
  Members,
  Message,
  NodeRecord,
  Registered,
} from './protocol.ts'

/** A router that said nothing for so long is not counted any more: a drain does not wait longer either. */
export const routerForgottenMs = 30_000
/** Between two wishes that the same node registers. */
const askAgainMs = 2000

export type State =
  | { phase: 'loading' }
  | { phase: 'ready'; members: Members; askedAt: ReadonlyMap<string, number> }
type Ready = Extract<State, { phase: 'ready' }>

type Reply = (outcome: Outcome<Registered>) => void
export type Effect =
  /** Read the nodes' records: `loaded` or `unloaded`. */
  | { do: 'load' }
  | { do: 'store'; record: NodeRecord; replyTo: Reply }
  | { do: 'welcome'; replyTo: Reply }
  | { do: 'refuse'; failure: ReturnType<typeof failure>; replyTo: Reply }
  /** Send the node a wish that it registers. */
  | { do: 'ask'; node: string; boot: string }
  /** Tell those who decide. */
  | { do: 'tell'; members: Members }

export const init = (): Step<State, Effect> => [{ phase: 'loading' }, [{ do: 'load' }]]

export function transition(state: State, message: Message): Step<State, Effect> {
  switch (message.type) {
    case 'loaded': {
      const nodes = new Map(
        message.nodes.map((it): [string, Member] => [it.node, { ...it, heard: null }]),
      )
      const members = { nodes, routers: new Map(), since: message.at }
      return tell({ phase: 'ready', members, askedAt: new Map() })
    }
    case 'unloaded':
    case 'unstored':
      // a crash: all is read anew within the restart budget
      throw new Error(message.reason)
    case 'register':
      return register(state, message)
    case 'report':
      return state.phase === 'ready' ? report(state, message) : stay(state)
  }
}

function register(
  state: State,
  message: Extract<Command, { type: 'register' }>,
): Step<State, Effect> {
  const { caller, at, replyTo } = message
  const { report, ...record } = message.registration
  const refuse = (problem: string): Step<State, Effect> => {
    const subject = `svc.members.register.${caller}`
    return [
      state,
      [{ do: 'refuse', failure: failure('LLMGW_BAD_MESSAGE', { subject, problem }), replyTo }],
    ]
  }
  if (caller !== record.node) return refuse(`it is about the node ${record.node}`)
  if (report.node !== record.node || report.boot !== record.boot) {
    return refuse('its report is of another node or boot')
  }
  if (state.phase === 'loading') {
    return [state, [{ do: 'refuse', failure: failure('LLMGW_NO_LEADER'), replyTo }]]
  }
  const before = state.members.nodes.get(record.node)
  const last = before?.boot === record.boot ? before.heard : null
  const heard: Heard = {
    ...heardOf(report, at),
    files: report.files ?? last?.files ?? [],
    installs: report.installs ?? last?.installs ?? [],
  }
  const [next, told] = tell(withNode(state, { ...record, heard }))
  const known = before !== undefined && isSame(before, record)
  return [next, [known ? { do: 'welcome', replyTo } : { do: 'store', record, replyTo }, ...told]]
}

function report(state: Ready, message: Extract<Command, { type: 'report' }>): Step<State, Effect> {
  const { at, caller } = message
  if (message.report.kind === 'router') {
    return caller === message.report.router ? router(state, message.report, at) : stay(state)
  }
  const { report } = message
  if (caller !== report.node) return stay(state)
  const member = state.members.nodes.get(report.node)
  if (member === undefined || member.boot !== report.boot || member.heard === null) {
    return ask(state, report, at)
  }
  const { heard } = member
  if (report.seq <= heard.seq) return stay(state)
  const files = report.files ?? heard.files
  const installs = report.installs ?? heard.installs
  const [next, told] = tell(
    withNode(state, { ...member, heard: { ...heardOf(report, at), files, installs } }),
  )
  if (report.seq === heard.seq + 1) return [next, told]
  // a report is missing, and with it perhaps a change of files or installs
  const [asking, asks] = ask(next, report, at)
  return [asking, [...told, ...asks]]
}

function router(state: Ready, report: RouterReport, at: number): Step<State, Effect> {
  const { kind: _, ...said } = report
  const routers = new Map(
    [...state.members.routers].filter(([, it]) => at - it.at < routerForgottenMs),
  )
  routers.set(report.router, { ...said, at })
  return tell({ ...state, members: { ...state.members, routers } })
}

function ask(state: Ready, { node, boot }: NodeReport, at: number): Step<State, Effect> {
  const lastAt = state.askedAt.get(node)
  if (lastAt !== undefined && at - lastAt < askAgainMs) return stay(state)
  const askedAt = new Map(state.askedAt).set(node, at)
  return [{ ...state, askedAt }, [{ do: 'ask', node, boot }]]
}

const tell = (state: Ready): Step<Ready, Effect> => [
  state,
  [{ do: 'tell', members: state.members }],
]

function withNode(state: Ready, member: Member): Ready {
  const nodes = new Map(state.members.nodes).set(member.node, member)
  return { ...state, members: { ...state.members, nodes } }
}

const heardOf = ({ seq, load, shards }: NodeReport, at: number) => ({ seq, at, load, shards })

const isSame = ({ heard: _, ...before }: Member, record: NodeRecord): boolean =>
  JSON.stringify(before) === JSON.stringify(record)
