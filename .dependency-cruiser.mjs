// The import table of docs/architecture.md as rules; `test/unit/house/import-table.test.ts` shows each one fire.

// Classes of files, each a list of patterns on paths from the repository's root.
const pureKernel = ['^kernel/(step|actor|restart|errors|assert)\\.ts$']
const contract = ['^transport/contract/']
const engines = ['^engines/']
const protocol = ['^actors/.+/protocol\\.ts$']
const actor = ['^actors/.+/actor\\.ts$']
const io = ['^actors/.+/io/']
const request = ['^actors/router/request/']
/** Files beside an actor: neither `protocol.ts`, `actor.ts`, `io/` nor the request path. */
const besideIn = (folders) =>
  `^(?!.*/(?:protocol|actor)\\.ts$)(?!.*/io/)(?!actors/router/request/)${folders}/`
const beside = [besideIn('actors')]
const everyPure = [...contract, ...engines, ...protocol, ...beside, ...request]
const tests = ['^test/']
const tools = ['^tools/', '^[^/]+$']
const bin = ['^bin/']
const wire = ['^transport/(?!contract/)']
const kernel = ['^kernel/']

/** A file's folder is matched as $1, the actor that it is a part of as $2. */
const own = '^((actors/[^/]+).*)'
/** Pure files of the file's own folder and those at the top of its actor. */
const ownPure = ['^$1/(?!actor\\.ts$)[^/]+\\.ts$', '^$2/(?!actor\\.ts$)[^/]+\\.ts$']

/**
 * Who may import a package. Packages without I/O may be in pure files, the others are confined to
 * `io/` or to one file. A package that is not named here may be imported by tests and tools only.
 */
const packages = {
  nact: ['^kernel/pump\\.ts$'],
  pino: ['^kernel/log\\.ts$'],
  denque: ['^kernel/mailbox\\.ts$'],
  'prom-client': ['^kernel/metrics\\.ts$'],
  yaml: ['^kernel/config\\.ts$'],
  // The client's connection is made in one file; what works on it takes a connection and imports types.
  // jetstream.ts takes the client's headers besides.
  '@nats-io/transport-node': ['^transport/(bus|jetstream)\\.ts$'],
  '@nats-io/jetstream': ['^transport/jetstream\\.ts$'],
  '@nats-io/kv': ['^transport/jetstream\\.ts$'],
  '@nats-io/nkeys': ['^transport/identity\\.ts$'],
  '@nats-io/jwt': ['^transport/identity\\.ts$'],
  msgpackr: ['^transport/codec\\.ts$'],
  'uWebSockets.js': ['^transport/http\\.ts$'],
  // what comes from outside is parsed where it comes in
  zod: [...everyPure, '^kernel/config\\.ts$', ...io, ...wire, ...bin],
  // without I/O
  'eventsource-parser': [...beside, ...request, ...io],
  'jsonc-parser': [...beside, ...request, ...io],
  // with I/O
  '@huggingface/gguf': io,
  execa: io,
  undici: io,
  yauzl: io,
  commander: bin,
  'cli-table3': bin,
}
/** `uWebSockets.js` is an alias: its files lie under the alias, its manifest has the other name. */
const inPackage = (name) => `(^|/)node_modules/${name.replaceAll('.', '\\.')}/`

/** A rule for one row of the table: what the row's files may import from this repository. */
const row = (name, from, allowed) => ({
  name,
  severity: 'error',
  from,
  to: { dependencyTypes: ['local'], pathNot: allowed },
})

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    row('pure-kernel', { path: pureKernel }, pureKernel),
    row('kernel', { path: kernel, pathNot: pureKernel }, kernel),
    row('contract', { path: contract }, [...pureKernel, ...contract]),
    row('transport', { path: wire }, ['^kernel/', '^transport/']),
    row('engines', { path: engines }, [...pureKernel, ...contract, ...engines]),
    row('protocol', { path: protocol }, [...pureKernel, ...contract, ...protocol]),
    row(
      'state',
      { path: `${own}/[^/]+\\.ts$`, pathNot: [...protocol, ...actor, ...io, ...request] },
      [...pureKernel, ...contract, ...engines, ...protocol, ...ownPure],
    ),
    row('actor', { path: `${own}/actor\\.ts$` }, [
      ...kernel,
      ...contract,
      ...engines,
      ...protocol,
      ...ownPure,
      '^transport/bridge\\.ts$',
    ]),
    {
      name: 'actor-engine-types',
      comment: 'ports may speak of a description; what it holds is asked in pure files and io',
      severity: 'error',
      from: { path: actor },
      to: { path: engines, dependencyTypesNot: ['type-only'] },
    },
    row('io', { path: '^(actors/[^/]+)/.*io/' }, [...kernel, '^transport/', ...engines, '^$1/']),
    {
      name: 'io-actor-types',
      comment: 'io implements the ports of actor.ts: it takes their types and none of its code',
      severity: 'error',
      from: { path: io },
      to: { path: actor, dependencyTypesNot: ['type-only'] },
    },
    row('request', { path: request }, [
      ...kernel,
      ...contract,
      besideIn('actors/(?:router|guard)'),
      '^actors/(?:router|guard)/.*protocol\\.ts$',
      ...request,
    ]),
    row('bin', { path: bin }, ['^(kernel|transport|engines|actors|bin|console)/']),
    row('console', { path: '^console/' }, ['^console/', ...contract]),
    row('tools', { path: tools }, ['^(?!test/)']),
    {
      name: 'node-modules',
      comment: "Node's modules: kernel and transport but their pure parts, io, bin, tools, tests",
      severity: 'error',
      from: { path: [...pureKernel, ...everyPure, ...actor, '^console/'] },
      to: { dependencyTypes: ['core'] },
    },
    ...Object.entries(packages).map(([name, importers]) => ({
      name: `package-${name}`,
      severity: 'error',
      from: { pathNot: [...importers, ...bin, ...tests, ...tools] },
      to: {
        path: inPackage(name),
        // a signature may speak of a connection that it is handed
        ...(name.startsWith('@nats-io/') ? { dependencyTypesNot: ['type-only'] } : {}),
      },
    })),
    {
      name: 'package-none',
      comment: 'pure kernel and console take no package, not even its types',
      severity: 'error',
      from: { path: [...pureKernel, '^console/'] },
      to: { path: 'node_modules' },
    },
    {
      name: 'package-nats-types',
      comment: 'types of the NATS client stay in transport',
      severity: 'error',
      from: { pathNot: [...wire, ...bin, ...tests, ...tools] },
      to: { path: inPackage('@nats-io/[^/]+'), dependencyTypes: ['type-only'] },
    },
    {
      name: 'package-unlisted',
      severity: 'error',
      from: { pathNot: [...tests, ...tools] },
      to: { path: 'node_modules', pathNot: Object.keys(packages).map(inPackage) },
    },
    { name: 'circular', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'not-resolvable',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: ['^dist/', '^test/support/import-table/'] },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
      extensions: ['.ts', '.mjs', '.js', '.d.ts'],
    },
  },
}
