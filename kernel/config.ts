// Reads a program's settings from flags, environment, file and defaults, in this order of precedence, by one schema.
import { readFileSync } from 'node:fs'
import { Document, isScalar, parse, parseDocument } from 'yaml'
import { z } from 'zod'
import { LlmgwError, messageOf } from './errors.ts'
import { redacted } from './redact.ts'

/** The form of the file that is read and printed: it stands in it as `version`, and not in the schema. */
const formVersion = 1

export type ConfigInput = {
  /** 'router' or 'llmgw-router': `listen.port` is then LLMGW_ROUTER_LISTEN_PORT in the environment. */
  program: string
  /** YAML with `version: 1`; must be there if it is named. */
  file?: string
  env: Readonly<Record<string, string | undefined>>
  /** By dotted path; texts are read as those of the environment are; undefined: not given. */
  flags: Readonly<Record<string, unknown>>
  /** Found out by the program before, as a tree; they win over those of the schema. */
  defaults?: Readonly<Record<string, unknown>>
}

/** Where each setting came from, by dotted path. Secret ones are marked `.meta({ secret: true })` in the schema. */
export type Sources = ReadonlyMap<string, { text: string; secret: boolean }>

/** What is used of a JSON schema. */
type Node = {
  type?: string | readonly string[]
  properties?: Readonly<Record<string, Node>>
  required?: readonly string[]
  anyOf?: readonly Node[]
}
type Value = { value: unknown; source: string }
type Values = Map<string, Value>

/** Throws LLMGW_CONFIG_INVALID for the first setting that is unknown, wrong or missing, with its source and the way out. */
export function readConfig<T extends z.ZodType>(
  schema: T,
  input: ConfigInput,
): { config: z.output<T>; sources: Sources } {
  const root = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Node
  const leaves = new Map(leavesOf(root, ''))
  const values: Values = new Map()
  takeTree(values, root, input.defaults ?? {}, '', 'the program')
  if (input.file) takeTree(values, root, readFile(input.file), '', `file ${input.file}`)
  takeEnvironment(values, leaves, input)
  takeFlags(values, leaves, input.flags)

  const parsed = schema.safeParse(treeOf(values, root))
  const issue = parsed.error?.issues[0]
  if (issue) throw invalidValue(issue, values, input)
  const sourceOf = (path: string) => values.get(path)?.source ?? 'default'
  const sources = [...leaves].map(
    ([path, leaf]) => [path, { text: sourceOf(path), secret: hasSecret(leaf) }] as const,
  )
  return { config: parsed.data as z.output<T>, sources: new Map(sources) }
}

/** As YAML that `readConfig` reads, each setting with its source as a comment, secrets hidden. */
export function printConfig(config: unknown, sources: Sources): string {
  const document = new Document(config)
  for (const [path, { text, secret }] of sources) {
    const keys = path.split('.')
    if (document.getIn(keys) === undefined) continue
    if (secret) document.setIn(keys, document.createNode(redacted))
    const node = document.getIn(keys, true) as { comment?: string; commentBefore?: string }
    if (isScalar(node)) node.comment = ` ${text}`
    else node.commentBefore = ` ${text}`
  }
  return `version: ${formVersion}\n${document.toString()}`
}

function* leavesOf(node: Node, path: string): Generator<[string, Node]> {
  for (const [key, child] of Object.entries(node.properties ?? {})) {
    if (child.properties) yield* leavesOf(child, join(path, key))
    else yield [join(path, key), child]
  }
}

const join = (path: string, key: string) => (path ? `${path}.${key}` : key)
const hasSecret = (leaf: Node) => JSON.stringify(leaf).includes('"secret":true')

function readFile(file: string): unknown {
  const refuse = (problem: string, field = 'version') => invalid(field, `file ${file}`, problem)
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (thrown) {
    throw refuse(`the file cannot be read: ${messageOf(thrown)}`, '(all)')
  }
  const document = parseDocument(text)
  const [error] = document.errors
  if (error) throw refuse(`this is not YAML: ${error.message}`, '(all)')
  const tree: unknown = document.toJS()
  if (!isTree(tree)) throw refuse('the file must hold settings as "name: value"', '(all)')
  const { version, ...settings } = tree
  if (version !== formVersion) {
    throw refuse(
      `it must be ${formVersion}, the form that this program reads, not ${show(version)}`,
    )
  }
  return settings
}

function takeTree(values: Values, node: Node, tree: unknown, path: string, source: string): void {
  if (tree === null) return // a section with nothing in it
  if (!isTree(tree)) throw invalid(path, source, `it is a section of settings, not ${show(tree)}`)
  for (const [key, value] of Object.entries(tree)) {
    const known = node.properties ?? {}
    const child = Object.hasOwn(known, key) ? known[key] : undefined
    if (!child) throw unknown(join(path, key), source, Object.keys(known))
    if (child.properties) takeTree(values, child, value, join(path, key), source)
    else values.set(join(path, key), { value, source })
  }
}

function takeEnvironment(values: Values, leaves: Map<string, Node>, input: ConfigInput): void {
  const paths = new Map([...leaves.keys()].map((path) => [variableOf(input.program, path), path]))
  if (paths.size < leaves.size) throw new Error('two settings of the schema share a variable')
  for (const [name, text] of Object.entries(input.env)) {
    if (text === undefined || !name.startsWith(variableOf(input.program, ''))) continue
    const source = `environment ${name}`
    const path = paths.get(name)
    if (!path) throw unknown(name, source, [...paths.keys()])
    values.set(path, { value: fromText(text, path, leaves.get(path), source), source })
  }
}

function takeFlags(values: Values, leaves: Map<string, Node>, flags: ConfigInput['flags']): void {
  for (const [path, given] of Object.entries(flags)) {
    if (given === undefined) continue
    const source = `flag --${path}`
    const leaf = leaves.get(path)
    if (!leaf) throw unknown(path, source, [...leaves.keys()])
    const value = typeof given === 'string' ? fromText(given, path, leaf, source) : given
    values.set(path, { value, source })
  }
}

/** LLMGW_ROUTER_LISTEN_PORT of 'router' and 'listen.port'. */
function variableOf(program: string, path: string): string {
  const snake = path.replaceAll('.', '_').replace(/([a-z0-9])([A-Z])/g, '$1_$2')
  return `LLMGW_${program.replace(/^llmgw-/, '').replaceAll('-', '_')}_${snake}`.toUpperCase()
}

/** A setting that may be a text is the text itself, any other is read as YAML: 8700, true, [a, b]. */
function fromText(text: string, path: string, leaf: Node | undefined, source: string): unknown {
  if (leaf && mayBeText(leaf)) return text
  try {
    return parse(text)
  } catch (thrown) {
    throw invalid(path, source, `its value is not YAML: ${messageOf(thrown)}`)
  }
}

const mayBeText = (node: Node): boolean =>
  [node.type].flat().includes('string') || (node.anyOf ?? []).some(mayBeText)

/** Sections that must be there are there, so that the defaults in them count. */
function treeOf(values: Values, root: Node, path = ''): Record<string, unknown> {
  const tree: Record<string, unknown> = {}
  for (const [key, child] of Object.entries(root.properties ?? {})) {
    const at = join(path, key)
    if (child.properties) {
      const section = treeOf(values, child, at)
      if (Object.keys(section).length > 0 || root.required?.includes(key)) tree[key] = section
    } else if (values.has(at)) tree[key] = values.get(at)?.value
  }
  return tree
}

function invalidValue(issue: z.core.$ZodIssue, values: Values, input: ConfigInput): LlmgwError {
  const field = issue.path.join('.')
  const given = [...values].find(([path]) => field === path || field.startsWith(`${path}.`))
  if (given) return invalid(field, given[1].source, `${issue.message}. Correct it there`)
  const places = `as ${field} in the file, as ${variableOf(input.program, field)} or as --${field}`
  return invalid(field, 'nowhere', `it is missing or wrong (${issue.message}). Set it ${places}`)
}

const invalid = (field: string, source: string, problem: string) =>
  new LlmgwError('LLMGW_CONFIG_INVALID', { field, source, problem })

const unknown = (field: string, source: string, known: readonly string[]) =>
  invalid(field, source, `there is no such setting; there are ${known.join(', ')}`)

const isTree = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const show = (value: unknown) => JSON.stringify(value) ?? 'nothing'
