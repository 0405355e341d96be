// `llmgw ctl …`: administration over NATS; each verb prints a table, or JSON with --json.
// As long as there are verbs: each is a few lines with its table.
import { type Command, InvalidArgumentError, Option } from 'commander'
import { LlmgwError } from '../../kernel/errors.ts'
import type {
  AdminAnswer,
  KeyView,
  ModelView,
  NodeView,
  ReplicaView,
} from '../../transport/contract/admin.ts'
import { type Admin, withAdmin } from '../admin.ts'
import { definitionFrom, definitionOf } from '../definition.ts'
import { count, duration, out, size, table, tail } from '../output.ts'

/** Adds `ctl` with its verbs; `dir` tells the folder chosen on the command line. */
export function addCtl(program: Command, dir: (command: Command) => string): void {
  const ctl = program.command('ctl').description('administer a running instance over NATS')
  const asked =
    (use: (admin: Admin, args: string[], options: Record<string, unknown>) => Promise<Shown>) =>
    async (...all: unknown[]): Promise<void> => {
      const command = all.at(-1) as Command
      const options = command.optsWithGlobals<Record<string, unknown>>()
      const shown = await withAdmin(dir(command), (admin) => use(admin, command.args, options))
      out(options['json'] === true ? JSON.stringify(shown.data) : shown.text)
    }
  const verb = (parent: Command, signature: string, text: string, example: string): Command =>
    parent
      .command(signature)
      .description(text)
      .option('--json', 'print JSON instead of a table')
      .addHelpText('after', `\nExample:\n  llmgw ctl ${example}`)

  verb(ctl, 'status', 'who leads, and what is served', 'status').action(
    asked(async (admin) => {
      const data = await admin.ask('status', {})
      return { data, text: statusText(data) }
    }),
  )
  verb(ctl, 'nodes', 'machines, with what is free on them', 'nodes').action(
    asked(async (admin) => {
      const { nodes } = await admin.ask('nodes-list', {})
      return { data: nodes, text: `${nodesTable(nodes)}${warningsOf(nodes)}` }
    }),
  )
  verb(ctl, 'replicas', 'what runs where', 'replicas').action(
    asked(async (admin) => {
      const { replicas } = await admin.ask('replicas-list', {})
      return { data: replicas, text: replicasTable(replicas) }
    }),
  )
  addModels(ctl, verb, asked)
  addKeys(ctl, verb, asked)
  verb(ctl, 'logs <replica>', "the end of an engine's log", 'logs r-4f2a --lines 50')
    .option('--lines <number>', 'how many lines', positive, 100)
    .action(
      asked(async (admin, [replica = ''], { lines }) => {
        const data = await admin.ask('logs-read', { replica, lines: Number(lines) })
        return { data: data.lines, text: data.lines.join('\n') }
      }),
    )
  verb(
    ctl,
    'why <model>',
    'why a model is where it is, or is not, in words',
    'why smollm2-135m',
  ).action(
    asked(async (admin, [model = '']) => {
      const data = await admin.ask('why', { model })
      return { data: data.lines, text: data.lines.join('\n') }
    }),
  )
}

type Shown = { data: unknown; text: string }
type Verb = (parent: Command, signature: string, text: string, example: string) => Command
type Asked = (
  use: (admin: Admin, args: string[], options: Record<string, unknown>) => Promise<Shown>,
) => (...all: unknown[]) => Promise<void>

function addModels(ctl: Command, verb: Verb, asked: Asked): void {
  const models = ctl.command('models').description('the catalog')
  verb(models, 'list', 'all models', 'models list').action(
    asked(async (admin) => {
      const { models: all } = await admin.ask('models-list', {})
      return { data: all, text: modelsTable(all) }
    }),
  )
  verb(models, 'show <model>', 'one model with its replicas', 'models show smollm2-135m').action(
    asked(async (admin, [model = '']) => {
      const data = await admin.ask('models-show', { model })
      return { data, text: `${modelText(data.model)}\n\n${replicasTable(data.replicas)}` }
    }),
  )
  verb(
    models,
    'add [source]',
    'add a model: a preset, an https address or the path of a .gguf file',
    'models add /srv/models/qwen3-4b-q4_k_m.gguf --name qwen3-4b --context 8192 --replicas 2',
  )
    .option('--definition <file>', 'a whole definition as YAML or JSON instead of a source')
    .option('--name <name>', 'what requests call it (default: from the source)')
    .option('--context <tokens>', 'context of one request, in tokens', positive)
    .option('--slots <number>', 'requests that one replica works on at once', positive)
    .option('--cores <number>', 'cores for one replica', positive)
    .option('--memory <mib>', 'memory to reserve, in MiB, instead of the estimate', positive)
    .option('--replicas <number>', 'how many replicas (default 1)', positive)
    .option('--sha256 <digest>', 'digest that the file must have')
    .action(
      asked(async (admin, [source], options) => {
        const definition = chosen(source, options)
        await admin.ask('models-add', { definition })
        return {
          data: definition,
          text: `added ${definition.name}; follow it with: llmgw ctl models show ${definition.name}`,
        }
      }),
    )
  verb(
    models,
    'remove <model>',
    'let running requests end, then stop its replicas',
    'models remove qwen3-4b',
  ).action(
    asked(async (admin, [model = '']) => {
      await admin.ask('models-remove', { model })
      return {
        data: { removed: model },
        text: `removed ${model}; its replicas end after their requests`,
      }
    }),
  )
}

function chosen(source: string | undefined, options: Record<string, unknown>) {
  const number = (name: string): number | undefined => options[name] as number | undefined
  const text = (name: string): string | undefined => options[name] as string | undefined
  const file = text('definition')
  if ((file === undefined) === (source === undefined)) {
    throw new LlmgwError('LLMGW_INVALID_REQUEST', {
      problem: 'name either a source or a file with --definition',
    })
  }
  if (file !== undefined) return definitionFrom(file)
  const memory = number('memory')
  return definitionOf(source ?? '', {
    name: text('name'),
    contextTokens: number('context'),
    slots: number('slots'),
    cores: number('cores'),
    memoryBytes: memory === undefined ? undefined : memory * 2 ** 20,
    replicas: number('replicas'),
    sha256: text('sha256'),
  })
}

function addKeys(ctl: Command, verb: Verb, asked: Asked): void {
  const keys = ctl.command('keys').description('keys of the endpoint')
  verb(keys, 'list', 'all keys; the secrets are nowhere', 'keys list').action(
    asked(async (admin) => {
      const { keys: all } = await admin.ask('keys-list', {})
      return { data: all, text: keysTable(all) }
    }),
  )
  verb(keys, 'create <name>', 'make a key; its secret is shown this once', 'keys create alice')
    .addOption(new Option('--scope <id>', 'whose key it is (default: the whole cluster)'))
    .action(
      asked(async (admin, [name = ''], { scope }) => {
        const data = await admin.ask('keys-create', {
          name,
          ...(typeof scope === 'string' ? { scope } : {}),
        })
        return { data, text: `${data.secret}\n\nKey ${data.key.id}. It is not shown again.` }
      }),
    )
  verb(keys, 'revoke <id>', 'stop a key everywhere', 'keys revoke k-1a2b').action(
    asked(async (admin, [id = '']) => {
      await admin.ask('keys-revoke', { id })
      return { data: { revoked: id }, text: `revoked ${id}` }
    }),
  )
}

/** A whole number above zero, as commander wants its errors. */
export function positive(text: string): number {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1) {
    throw new InvalidArgumentError('a whole number above zero is needed')
  }
  return value
}

function statusText(it: AdminAnswer<'status'>): string {
  const { leader, nodes, routers, models } = it
  return [
    `leader   ${leader.name} (pid ${leader.pid})`,
    `nodes    ${nodes.map((node) => `${node.node} ${node.state}`).join(', ') || 'none'}`,
    `routers  ${routers.map((router) => router.router).join(', ') || 'none'}`,
    '',
    table(
      ['MODEL', 'READY', 'WANTED', 'REASON'],
      models.map((model) => [
        model.model,
        String(model.ready),
        String(model.wanted),
        model.reason ?? '',
      ]),
    ),
  ].join('\n')
}

const nodesTable = (nodes: readonly NodeView[]): string =>
  table(
    [
      'NODE',
      'STATE',
      'ADDRESS',
      'CPUS',
      'MEMORY FREE',
      'OF',
      'RESERVED',
      'DISK FREE',
      'CARDS',
      'ENGINES',
    ],
    nodes.map((it) => [
      it.node,
      it.state === 'up' ? 'up' : `${it.state} for ${duration(it.silentMs)}`,
      it.address,
      String(it.hardware.cpu.usable),
      it.load === null ? '?' : size(it.load.memoryAvailableBytes),
      size(it.hardware.memoryBytes),
      size(it.reservedBytes),
      it.load === null ? '?' : size(it.load.diskFreeBytes),
      it.hardware.gpus.map((gpu) => gpu.name).join(', ') || 'none',
      it.installs.map((one) => `${one.engine} ${one.version} ${one.state}`).join(', ') || 'none',
    ]),
  )

/** What is wrong on machines, below their table. */
const warningsOf = (nodes: readonly NodeView[]): string =>
  nodes.flatMap(({ node, hardware }) => hardware.warnings.map((it) => `\n${node}: ${it}`)).join('')

/** One line for each replica. */
export const replicasTable = (replicas: readonly ReplicaView[]): string =>
  table(
    ['REPLICA', 'MODEL', 'NODE', 'STATE', 'PID', 'ADDRESS', 'IN FLIGHT', 'RESTARTS', 'REASON'],
    replicas.map((it) => [
      it.replica,
      it.model,
      it.node,
      `${it.state}${tail(it.progress)}`,
      it.pid === null ? '' : String(it.pid),
      it.address ?? '',
      String(it.inFlight),
      String(it.restarts),
      it.reason?.split('\n')[0] ?? '',
    ]),
  )

const modelsTable = (models: readonly ModelView[]): string =>
  table(
    ['MODEL', 'ENGINE', 'READY', 'WANTED', 'MEMORY', 'LICENCE', 'REASON'],
    models.map((it) => [
      it.definition.name,
      it.definition.engine,
      String(it.ready),
      String(it.definition.replicas),
      it.memoryBytes === null ? '?' : size(it.memoryBytes),
      it.definition.artifact.licence,
      it.reason ?? '',
    ]),
  )

const modelText = ({ definition, header, memoryBytes, ready, reason }: ModelView): string =>
  [
    `model     ${definition.name}`,
    `engine    ${definition.engine}`,
    `file      ${definition.artifact.fileName}, ${definition.artifact.licence}`,
    `header    ${header === null ? 'not read yet' : `${header.architecture}, ${count(header.layers, 'layer')}, trained for ${header.trainContextTokens ?? 'an unknown number of'} tokens`}`,
    `memory    ${memoryBytes === null ? 'not known yet' : size(memoryBytes)} a replica`,
    `replicas  ${ready} ready of ${definition.replicas} wanted${reason === null ? '' : `: ${reason}`}`,
  ].join('\n')

const keysTable = (keys: readonly KeyView[]): string =>
  table(
    ['KEY', 'NAME', 'SCOPE', 'CREATED'],
    keys.map((it) => [it.id, it.name, it.scope, new Date(it.createdAt).toISOString()]),
  )
