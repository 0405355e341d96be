// The pages of the lifecycles of a process and of a shard, made by stepping their transitions through every phase and message.
// Longer than most: mostly the examples that the transitions are stepped with.

import type { Message as ProcessMessage, ProcessSpec } from '../../actors/process/protocol.ts'
import * as process from '../../actors/process/state.ts'
import type { Setting, State as ShardState } from '../../actors/shard/phases.ts'
import type { Message as ShardMessage, ShardSpec } from '../../actors/shard/protocol.ts'
import * as shard from '../../actors/shard/state.ts'
import { engines } from '../../engines/index.ts'
import { failure } from '../../kernel/errors.ts'
import { newBudget } from '../../kernel/restart.ts'
import type { Step } from '../../kernel/step.ts'

type Effect = { do: string; event?: { type: string } }
type Row = { message: string; next: string; effects: string }

/** What each message does in one phase; those that change nothing are left out. */
function rowsOf<S extends { phase: string }, M>(
  state: S,
  messages: Readonly<Record<string, M>>,
  step: (state: S, message: M) => Step<S, Effect>,
): Row[] {
  return Object.entries(messages).flatMap(([message, it]) => {
    const [next, effects] = tried(() => step(state, it))
    if (next === null) return [{ message, next: '(crash)', effects: '' }]
    if (next === state && effects.length === 0) return []
    const phase = next.phase === state.phase ? '(stays)' : next.phase
    return [{ message, next: phase, effects: effects.map(shown).join(', ') }]
  })
}

const shown = (effect: Effect): string =>
  effect.do === 'say' && effect.event ? `say ${effect.event.type}` : effect.do

function tried<S>(step: () => Step<S, Effect>): Step<S, Effect> | [null, []] {
  try {
    return step()
  } catch {
    return [null, []]
  }
}

function tables<S extends { phase: string }, M>(
  states: readonly S[],
  messages: (state: S) => Readonly<Record<string, M>>,
  step: (state: S, message: M) => Step<S, Effect>,
  titleOf: (state: S) => string = ({ phase }) => phase,
): string {
  return states
    .map((state) => {
      const rows = rowsOf(state, messages(state), step)
        .map(({ message, next, effects }) => `| ${message} | ${next} | ${effects} |`)
        .join('\n')
      return `### ${titleOf(state)}\n\n| message | next phase | effects |\n| --- | --- | --- |\n${rows}\n`
    })
    .join('\n')
}

const spec: ProcessSpec = { name: 'a', argv: ['/a'], env: {}, cwd: '/', stop: [] }
const exit = { code: 1, reason: 'exited with code 1' }
const limits = { intensity: 1, periodMs: 1, delayMs: { min: 0, max: 0 } }

/** `docs/process.md`: the lifecycle of a kept process. */
export function processPage(): string {
  const budget = newBudget(limits)
  const spent = { ...budget, spentAtMs: [0] }
  const live = { attempt: 1, spec, budget }
  const states: process.State[] = [
    process.init()[0],
    { phase: 'idle', attempt: 1 },
    { phase: 'starting', ...live },
    { phase: 'running', ...live, pid: 1 },
    { phase: 'waiting', ...live },
    { phase: 'stopping', ...live, next: null },
    { phase: 'failed', attempt: 1, reason: '' },
  ]
  const messages: Record<string, ProcessMessage> = {
    start: { type: 'start', spec },
    stop: { type: 'stop' },
    found: { type: 'found', spec, pid: 1 },
    'none found': { type: 'none' },
    'nothing known': { type: 'unknown', reason: '' },
    started: { type: 'started', attempt: 1, pid: 1 },
    ended: { type: 'ended', attempt: 1, exit, at: 0 },
    'due to start': { type: 'due', attempt: 1 },
  }
  const step = (state: process.State, message: ProcessMessage) =>
    process.transition(limits, state, message)
  const outOfBudget = rowsOf(
    { phase: 'running', ...live, pid: 1, budget: spent } as process.State,
    {
      'ended, budget spent': messages['ended'] as ProcessMessage,
    },
    step,
  )
  return `<!-- Made by \`npm run docs\` from actors/process/state.ts and held against it by test/docs. -->

# The life of a kept process

Each program of a machine and each engine is kept by an actor \`process\`. It outlives its keeper:
a shim (\`actors/process/io/shim.sh\`), in a session of its own, holds a lock and a fifo that the whole
tree of the process inherits, appends its output to \`log\` and writes its exit code. A run record
(\`record.json\`, 0600) is written before the start. The next keeper adopts the process if pid, start
time, boot id and the marker in its environment prove that it is the one of the record; what is not
proven is neither adopted nor signalled. Nothing is ever launched while it is not known whether
something runs.

A process may have a user of its own ([why](adr/0008-engines-have-users-of-their-own.md)): the shim is
root's, and the program is started behind \`setpriv\`, as that user, in its group alone, unable to gain
rights. What it cannot run or enter is said before anything is started.

An end is noticed when the last of the tree has closed the fifo, and by looking every two seconds.
Facts carry the number of the launch that they are about; those of an earlier one change nothing.

| in the run folder | is |
| --- | --- |
| \`record.json\` | how it was started, its token, its pid and start time |
| \`log\` | what it prints, appended over restarts, emptied in place past 64 MB |
| \`slot\` | locked by the tree: two keepers cannot start two |
| \`alive\` | fifo that the tree holds open |
| \`pid\`, \`rc\` | notes of the shim, each with the token |

Messages that change nothing in a phase are left out.

${tables(states, () => messages, step)}
When the restart budget is spent, \`ended\` leads from starting or running to ${outOfBudget[0]?.next} instead.
`
}

const shardSpec: ShardSpec = {
  replica: 'r',
  model: 'm',
  engine: engines[0]?.name ?? '',
  artifact: {
    name: 'm',
    version: '1',
    platform: 'any',
    licence: '',
    fileName: 'm',
    executable: false,
    sources: [{ kind: 'path', path: '/m' }],
  },
  profile: { contextTokens: 512, slots: 1, cores: 1, memoryBytes: 1 },
  key: 'k',
}

const shardMessages = ({ attempt }: ShardState): Record<string, ShardMessage> => {
  const progress = { what: '', doneBytes: null, totalBytes: null, bytesPerSecond: null }
  const at = { attempt, at: 0 }
  const seen = { ...at, lines: [], portTaken: false }
  const measure = { answered: true, running: 1, waiting: 0, progress: 1, compute: null }
  const engine = (event: Extract<ShardMessage, { type: 'engine' }>['event']): ShardMessage => ({
    type: 'engine',
    ...at,
    event,
  })
  const file = (event: Extract<ShardMessage, { type: 'file' }>['event']): ShardMessage => ({
    type: 'file',
    ...at,
    event,
  })
  const said = (event: Extract<ShardMessage, { type: 'process' }>['event']): ShardMessage => ({
    type: 'process',
    event,
  })
  const [again, never] = [failure('LLMGW_ARTIFACT_UNAVAILABLE'), failure('LLMGW_DIGEST_MISMATCH')]
  return {
    start: { type: 'start', spec: shardSpec },
    'start, another definition': { type: 'start', spec: { ...shardSpec, model: 'n' } },
    stop: { type: 'stop' },
    'process absent': said({ type: 'absent' }),
    'process running': said({ type: 'running', pid: 1, spec, adopted: false }),
    'process lost': said({ type: 'failed', exit, reason: '' }),
    'process stopped': said({ type: 'stopped' }),
    'engine in progress': engine({ type: 'progress', progress }),
    'engine ready': engine({ type: 'ready', engine: '', version: '1', argv: ['/e'] }),
    'engine failed': engine({ type: 'failed', failure: again }),
    'engine failed for good': engine({ type: 'failed', failure: never }),
    'file in progress': file({ type: 'progress', progress }),
    'file done': file({
      type: 'done',
      file: { key: '', path: '/m', sizeBytes: 1, sha256: null, header: null },
    }),
    'file failed': file({ type: 'failed', failure: again }),
    'place reserved': { type: 'reserved', attempt, place: { port: 1, homeDir: '/', path: '' } },
    'setback for good': { type: 'setback', ...at, failure: never },
    due: { type: 'due', attempt },
    'start deadline': { type: 'late', attempt },
    'probed: loading': { type: 'probed', attempt, readiness: 'loading' },
    'probed: ready': { type: 'probed', attempt, readiness: 'ready' },
    'probed: a stranger': { type: 'probed', attempt, readiness: 'stranger' },
    measured: { type: 'measured', ...at, measure },
    'measured: stands for long': { type: 'measured', attempt, at: 1e9, measure },
    'tried: a token': { type: 'tried', ...at, token: true },
    'tried: none': { type: 'tried', ...at, token: false },
    'examined: crashed': { type: 'examined', ...seen },
    'examined: port taken': { type: 'examined', ...seen, portTaken: true },
    wiped: { type: 'wiped' },
  }
}

const titleOf = (state: ShardState): string => {
  if (state.phase !== 'ready' || state.pace === null) return state.phase
  const words = { none: '', asked: ', asked for a token', failed: ', no token came' }
  return `ready${words[state.pace.probe]}`
}

/** `docs/shard.md`: the lifecycle of one replica's part on a node. */
export function shardPage(): string {
  const setting: Setting = { engineOf: () => engines[0], host: '127.0.0.1' }
  const step = (state: ShardState, message: ShardMessage) =>
    shard.transition(setting, state, message)
  const after = (state: ShardState, ...names: string[]): ShardState =>
    names.reduce((it, name) => {
      const message = shardMessages(it)[name]
      return message === undefined ? it : step(it, message)[0]
    }, state)
  const saved = { version: 1, spec: shardSpec, port: 1, engineVersion: '1', fileBytes: 1 } as const
  const looking = step(shard.init(shardSpec)[0], { type: 'recalled', saved })[0]
  const installing = after(looking, 'process absent')
  const fetching = after(installing, 'engine ready')
  const starting = after(fetching, 'file done', 'place reserved')
  const loading = after(starting, 'process running')
  const ready = after(loading, 'probed: ready', 'measured')
  const asked = after(ready, 'measured: stands for long')
  const falling = after(loading, 'process lost')
  const states = [
    looking,
    installing,
    fetching,
    starting,
    loading,
    ready,
    asked,
    after(asked, 'tried: none'),
    falling,
    after(falling, 'examined: crashed'),
    after(starting, 'setback for good'),
    after(ready, 'stop'),
  ]
  return `<!-- Made by \`npm run docs\` from actors/shard/state.ts and held against it by test/docs. -->

# The life of a shard

A shard is one replica's part on one node: its engine, from the look for one that was left running
to its end. What it needs to find that engine again lies in \`run/shards/REPLICA\` (0700): the
definition with port and key (\`shard.json\`, 0600) beside the process's own record, log and notes.

1. An engine that was left running is adopted with its pid, port and key; until it answers, the shard
   is reported as looking, so routes to it stay.
2. Else engine, file and port are had one after the other, and the process is launched with an
   environment of its own. The key is in that environment and in files of mode 0600, never in
   arguments or logs.
3. It is ready when it is healthy and lists its model (EN5), and is looked at every second from then on.
   Where it counts running requests and its progress stands for longer than its description allows for
   a file of that size on that many cores, it is asked for one token. None within the deadline, and
   still no progress at the next look: it is wedged, whatever its health check says, and is ended and
   started again like one that crashed. An engine that gets on, or has nothing to do, is never asked: a
   token costs what its slot had cached, and wakes a card that sleeps.
4. A crash is examined: its last log lines say why. A port that somebody took is no crash; a reason
   that another try cannot change fails the replica at once; else the engine is started again after a
   growing delay, five times in ten minutes (EN4).
5. A stop ends the whole tree of the process and removes the run folder and the engine's own
   (\`homes/REPLICA\`).

Reports call \`falling\` restarting. Messages that change nothing in a phase are left out; with every
change the shard also tells its node the new status.

${tables(states, shardMessages, step, titleOf)}`
}
