// Decides which program of a machine is started, replaced, ended or started anew.
import { assertNever } from '../../kernel/assert.ts'
import { type Step, stay } from '../../kernel/step.ts'
import type { ProcessSpec } from '../process/protocol.ts'
import type { Fact, MachineEvent, Message } from './protocol.ts'

/** A program past its budget is tried anew after so long: whatever breaks it may be mended meanwhile. */
export const retryAfterMs = 30_000

/** `replacing`: an adopted one of another specification is ending, so that the wanted one can start. */
type Program = {
  spec: ProcessSpec
  phase: 'pending' | 'running' | 'replacing' | 'failed' | 'ended'
}

/**
 *     keeping ──stop──> ending (last program first) ──> ended
 */
export type State = { phase: 'keeping' | 'ending' | 'ended'; programs: readonly Program[] }

export type Effect =
  | { do: 'spawn'; spec: ProcessSpec }
  | { do: 'start'; spec: ProcessSpec }
  | { do: 'end'; spec: ProcessSpec }
  /** Ends the one that runs, and nothing that it started. */
  | { do: 'replace'; spec: ProcessSpec; by: ProcessSpec['stop'] }
  | { do: 'wait'; program: string; delayMs: number }
  | { do: 'say'; event: MachineEvent }

/** Programs in the order of their start; what already runs of them is taken over. */
export const init = (specs: readonly ProcessSpec[]): Step<State, Effect> => [
  { phase: 'keeping', programs: specs.map((spec) => ({ spec, phase: 'pending' })) },
  specs.flatMap((spec): Effect[] => [
    { do: 'spawn', spec },
    { do: 'start', spec },
  ]),
]

export function transition(state: State, message: Message): Step<State, Effect> {
  const { phase, programs } = state
  switch (message.type) {
    case 'stop':
      return phase === 'keeping' ? endNext(programs) : stay(state)
    case 'due':
      return phase === 'keeping' ? again(programs, message.program) : stay(state)
    case 'said':
      if (phase === 'keeping') return keeping(programs, message)
      return phase === 'ending' ? ending(state, message) : stay(state)
    default:
      return assertNever(message)
  }
}

const say = (event: MachineEvent): Effect => ({ do: 'say', event })

const withPhase = (
  programs: readonly Program[],
  name: string,
  phase: Program['phase'],
): Program[] => programs.map((it) => (it.spec.name === name ? { ...it, phase } : it))

function again(programs: readonly Program[], name: string): Step<State, Effect> {
  const program = programs.find((it) => it.spec.name === name)
  if (program?.phase !== 'failed') return stay({ phase: 'keeping', programs })
  return [
    { phase: 'keeping', programs: withPhase(programs, name, 'pending') },
    [{ do: 'start', spec: program.spec }],
  ]
}

function keeping(
  programs: readonly Program[],
  { program: name, event }: Extract<Fact, { type: 'said' }>,
): Step<State, Effect> {
  const program = programs.find((it) => it.spec.name === name)
  if (program === undefined) return stay({ phase: 'keeping', programs })
  const to = (phase: Program['phase'], ...effects: Effect[]): Step<State, Effect> => [
    { phase: 'keeping', programs: withPhase(programs, name, phase) },
    effects,
  ]
  switch (event.type) {
    case 'running':
      if (!same(event.spec, program.spec)) {
        const by = alone(event.spec.stop)
        return to('replacing', { do: 'replace', spec: program.spec, by })
      }
      return to('running', say({ type: 'running', program: name, pid: event.pid }))
    case 'restarting':
      return to(program.phase, say({ type: 'restarting', program: name, reason: event.reason }))
    case 'failed':
      return to('failed', say({ type: 'failed', program: name, reason: event.reason }), {
        do: 'wait',
        program: name,
        delayMs: retryAfterMs,
      })
    case 'stopped':
      return program.phase === 'replacing'
        ? to('pending', { do: 'start', spec: program.spec })
        : to('ended')
    case 'absent':
      // its keeper began anew and knows nothing of what was wanted
      return to('pending', { do: 'start', spec: program.spec })
    default:
      return assertNever(event)
  }
}

function ending(
  state: State,
  { program: name, event }: Extract<Fact, { type: 'said' }>,
): Step<State, Effect> {
  if (event.type !== 'stopped' && event.type !== 'failed') return stay(state)
  const [next, effects] = endNext(withPhase(state.programs, name, 'ended'))
  return [next, [say({ type: 'ended', program: name }), ...effects]]
}

function endNext(programs: readonly Program[]): Step<State, Effect> {
  const last = programs.findLast((it) => it.phase !== 'ended' && it.phase !== 'failed')
  return last === undefined
    ? [{ phase: 'ended', programs }, [say({ type: 'stopped' })]]
    : [{ phase: 'ending', programs }, [{ do: 'end', spec: last.spec }]]
}

/** Comes from the shell that a supervisor was started in, and says nothing of the program. */
const ambient = ['PATH', 'HOME', 'LANG']

const same = (one: ProcessSpec, other: ProcessSpec): boolean => told(one) === told(other)

const told = ({ argv, env, cwd }: ProcessSpec): string =>
  JSON.stringify([argv, cwd, Object.entries(env).filter(([name]) => !ambient.includes(name))])

/** SIGINT ends also what a program started, which its successor adopts after SIGTERM. */
const alone = (stop: ProcessSpec['stop']): ProcessSpec['stop'] =>
  stop.map((step) => (step.signal === 'SIGINT' ? { ...step, signal: 'SIGTERM' } : step))
