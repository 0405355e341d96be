// The config reader: precedence, sources, and errors that name field, source and the way out.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { z } from 'zod'
import { type ConfigInput, printConfig, readConfig } from '../../../kernel/config.ts'
import { LlmgwError } from '../../../kernel/errors.ts'

const schema = z.object({
  dir: z.string(),
  listen: z.object({
    host: z.string().default('127.0.0.1'),
    port: z.number().int().min(1).max(65535).default(8700),
  }),
  natsUrls: z.array(z.string()).default([]),
  stopMs: z.number().nullable().default(null),
  apiKey: z.string().meta({ secret: true }).optional(),
  tls: z.object({ cert: z.string() }).optional(),
  labels: z.record(z.string(), z.string()).default({}),
})

function fileOf(t: Test, text: string): string {
  const file = join(t.testdir({}), 'router.yaml')
  writeFileSync(file, text)
  return file
}

const read = (input: Partial<ConfigInput> = {}) =>
  readConfig(schema, { program: 'llmgw-router', env: {}, flags: { dir: '/d' }, ...input })

/** The details of the error that reading throws. */
function problemOf(input: Partial<ConfigInput>) {
  try {
    read(input)
  } catch (thrown) {
    if (thrown instanceof LlmgwError) return { code: thrown.code, ...thrown.details }
    throw thrown
  }
  return undefined
}

t.test('flags win over environment, that over file, that over defaults', async (t) => {
  const file = fileOf(t, 'version: 1\nlisten: {port: 1, host: file}\nstopMs: 1\nnatsUrls: [a]\n')
  const env = { LLMGW_ROUTER_LISTEN_PORT: '2', LLMGW_ROUTER_STOP_MS: '2', OTHER: 'x' }
  const defaults = { dir: '/default', listen: { port: 7 }, apiKey: 'k' }
  const { config, sources } = read({ file, env, flags: { stopMs: 3, dir: undefined }, defaults })
  t.same(config, {
    dir: '/default',
    listen: { host: 'file', port: 2 },
    natsUrls: ['a'],
    stopMs: 3,
    apiKey: 'k',
    labels: {},
  })
  t.same(Object.fromEntries([...sources].map(([path, { text }]) => [path, text])), {
    dir: 'the program',
    'listen.host': `file ${file}`,
    'listen.port': 'environment LLMGW_ROUTER_LISTEN_PORT',
    natsUrls: `file ${file}`,
    stopMs: 'flag --stopMs',
    apiKey: 'the program',
    'tls.cert': 'default',
    labels: 'default',
  })
})

t.test('texts of environment and flags become what the setting is', async (t) => {
  const env = { LLMGW_ROUTER_NATS_URLS: '[a, b]', LLMGW_ROUTER_LISTEN_HOST: '007' }
  const { config } = read({ env, flags: { dir: 'true', stopMs: 'null', labels: '{a: b}' } })
  t.match(config, { natsUrls: ['a', 'b'], listen: { host: '007' }, dir: 'true', stopMs: null })
  t.same(config.labels, { a: 'b' })
  t.match(problemOf({ env: { LLMGW_ROUTER_NATS_URLS: '[a' } }), {
    field: 'natsUrls',
    problem: /not YAML/,
  })
})

t.test('a wrong value names field, source and what it must be', async (t) => {
  const file = fileOf(t, 'version: 1\nlisten:\n  port: many\n')
  const source = `file ${file}`
  const code = 'LLMGW_CONFIG_INVALID'
  t.match(problemOf({ file }), { code, field: 'listen.port', source, problem: /expected number/ })
  t.match(problemOf({ env: { LLMGW_ROUTER_LISTEN_PORT: '70000' } }), {
    source: 'environment LLMGW_ROUTER_LISTEN_PORT',
    problem: /65535.*Correct it there/,
  })
  t.match(problemOf({ flags: { dir: '/d', natsUrls: [1] } }), {
    field: 'natsUrls.0',
    source: 'flag --natsUrls',
  })
  t.match(problemOf({ flags: {} }), {
    field: 'dir',
    problem: /missing.*dir in the file, as LLMGW_ROUTER_DIR or as --dir/,
  })
})

t.test('an unknown setting is refused, with those that there are', async (t) => {
  const file = fileOf(t, 'version: 1\nlisten:\n  prot: 1\n')
  const problem = 'there is no such setting; there are host, port'
  t.match(problemOf({ file }), { field: 'listen.prot', source: `file ${file}`, problem })
  t.match(problemOf({ env: { LLMGW_ROUTER_PORT: '1' } }), {
    field: 'LLMGW_ROUTER_PORT',
    problem: /LLMGW_ROUTER_LISTEN_PORT/,
  })
  t.match(problemOf({ flags: { port: 1 } }), { source: 'flag --port' })
})

t.test(
  'a file that is missing, no YAML, no settings, or of another version is refused',
  async (t) => {
    t.match(problemOf({ file: '/none/at/all' }), { field: '(all)', problem: /ENOENT/ })
    t.match(problemOf({ file: fileOf(t, 'a: [') }), { problem: /not YAML/ })
    t.match(problemOf({ file: fileOf(t, '- a') }), { problem: /name: value/ })
    t.match(problemOf({ file: fileOf(t, 'dir: /d') }), { field: 'version', problem: /not nothing/ })
    t.match(problemOf({ file: fileOf(t, 'version: 2') }), { field: 'version', problem: /not 2/ })
    t.match(problemOf({ file: fileOf(t, 'version: 1\nlisten: 5') }), { problem: /a section/ })
    t.equal(problemOf({ file: fileOf(t, 'version: 1\nlisten:\n') }), undefined)
  },
)

t.test('the printed config reads back the same, shows sources and hides secrets', async (t) => {
  const flags = { dir: '/d', apiKey: 'sk-llmgw-secret', natsUrls: ['a'], 'listen.port': 1 }
  const { config, sources } = read({ flags })
  const printed = printConfig(config, sources)
  t.notMatch(printed, 'sk-llmgw-secret')
  t.match(printed, 'port: 1 # flag --listen.port')
  t.match(printed, 'host: 127.0.0.1 # default')
  const again = read({ file: fileOf(t, printed), flags: {} }).config
  t.same(again, { ...config, apiKey: '[redacted]' })
})

t.test('two settings that would share a variable are a fault of the schema', async (t) => {
  const twins = z.object({ aB: z.string(), a: z.object({ b: z.string() }) })
  t.throws(() => readConfig(twins, { program: 'x', env: {}, flags: {} }), /share a variable/)
})
