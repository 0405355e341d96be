// `llmgw status`: the programs of this machine, and what they serve.
import type { Command } from 'commander'
import { readRun } from '../../actors/process/io/ports.ts'
import { messageOf } from '../../kernel/errors.ts'
import type { ReplicaView } from '../../transport/contract/admin.ts'
import { withAdmin } from '../admin.ts'
import { type Layout, layout, readMemory } from '../instance.ts'
import { err, out, table } from '../output.ts'
import { replicasTable } from './ctl.ts'
import { programNames } from './up/prepare.ts'

/** `name` is the program's, `unit` tells apart several of one program. */
export type ProgramView = { name: string; unit: string; pid: number | null }

/** Shorter than a change of leaders: status is for looking, and says so when nobody leads. */
const leaderWithinMs = 2_000

export function addStatus(program: Command, dir: (command: Command) => string): void {
  program
    .command('status')
    .description('the programs of this machine and what they serve')
    .option('--json', 'print JSON instead of tables')
    .addHelpText('after', '\nExit code: 0 all programs run, 1 some or all do not.')
    .action(async (options: { json?: boolean }, command: Command) => {
      const paths = layout(dir(command))
      readMemory(paths) // throws where the instance is another user's
      const programs = programsOf(paths)
      const replicas = programs.some((it) => it.pid !== null) ? await replicasOf(paths) : []
      if (options.json === true) out(JSON.stringify({ programs, replicas: replicas.map(short) }))
      else print(programs, replicas)
      if (programs.some((it) => it.pid === null)) process.exitCode = 1
    })
}

/** Each program with its pid, null where it does not run. */
export const programsOf = (paths: Layout): ProgramView[] =>
  programNames.map(({ unit, program }) => {
    const run = readRun(paths.runOf(unit))
    return { name: program, unit, pid: run?.alive === true ? run.pid : null }
  })

/** Empty, with a line that says why, where no leader answers. */
async function replicasOf(paths: Layout): Promise<ReplicaView[]> {
  try {
    return await withAdmin(
      paths.dir,
      async (admin) => (await admin.ask('replicas-list', {}, leaderWithinMs)).replicas,
    )
  } catch (error) {
    err(`replicas are not known: ${messageOf(error)}`)
    return []
  }
}

const short = ({ replica, model, node, state, pid, inFlight, reason }: ReplicaView) => ({
  replica,
  model,
  node,
  state,
  pid,
  inFlight,
  reason,
})

function print(programs: readonly ProgramView[], replicas: readonly ReplicaView[]): void {
  out(
    table(
      ['PROGRAM', 'UNIT', 'PID'],
      programs.map((it) => [it.name, it.unit, it.pid === null ? 'not running' : String(it.pid)]),
    ),
  )
  out('')
  out(replicas.length === 0 ? 'no replicas' : replicasTable(replicas))
}
