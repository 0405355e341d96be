// Runs all checks, two at a time, then the suites named as arguments one by one; ends with one summed line.
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const scratch = mkdtempSync(join(tmpdir(), 'llmgw-check-'))
const coverage = join(scratch, 'coverage')
const npx = (tool, ...args) => [join('node_modules/.bin', tool), ...args]
const folders = ['kernel', 'transport', 'engines', 'actors', 'bin', 'console', 'tools', 'test']

/** How many files of a suite run at once, and how long one file may take. */
const suites = {
  unit: { parallel: 2, fileMs: 60_000, env: { NODE_V8_COVERAGE: coverage } },
  contract: { parallel: 1, fileMs: 60_000 },
  docs: { parallel: 1, fileMs: 60_000 },
  integration: { parallel: 1, fileMs: 180_000 },
  fault: { parallel: 1, fileMs: 240_000 },
  e2e: { parallel: 1, fileMs: 600_000 },
  // by its own command: what takes minutes since it waits for what must not come
  long: { parallel: 1, fileMs: 600_000 },
}
/** Whatever a step does, it ends: the last resort behind the limits of files. */
const stepMs = 3_600_000

/** The compiled tests of a suite, listed by their sources: dist may hold tests that were deleted. */
function filesOf(suite) {
  const folder = join('test', suite)
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => join('dist', folder, name.replace(/\.ts$/, '.js')))
    .sort()
}

/** A suite as a step: node's runner, with its events in a file; `live` also shows them as they come. */
function suiteStep(name, { after, live = false } = {}) {
  const { parallel, fileMs, env } = suites[name]
  const files = filesOf(name)
  const events = join(scratch, `${name}.jsonl`)
  const command = [
    process.execPath,
    '--enable-source-maps',
    '--test',
    `--test-concurrency=${parallel}`,
    `--test-timeout=${fileMs}`,
    ...(live ? ['--test-reporter=spec', '--test-reporter-destination=stdout'] : []),
    '--test-reporter=./tools/test-events.mjs',
    `--test-reporter-destination=${events}`,
    ...files,
  ]
  // tap's own limit for one test comes first, since it says which test hung
  const limit = { TAP_TIMEOUT: String(fileMs / 1000 - 5) }
  return {
    name,
    after,
    live,
    command,
    env: { ...limit, ...env },
    events,
    empty: files.length === 0,
  }
}

/** Two lanes side by side; in each one step after another. */
const lanes = [
  [
    { name: 'build', command: ['npm', 'run', '--silent', 'build'] },
    suiteStep('unit', { after: 'build' }),
    {
      name: 'coverage',
      after: 'unit',
      command: npx('c8', 'report', '--temp-directory', coverage, '--check-coverage'),
    },
  ],
  [
    { name: 'lint', command: npx('biome', 'ci', '--colors=off', '--error-on-warnings', '.') },
    { name: 'imports', command: npx('depcruise', ...folders.filter((name) => existsSync(name))) },
    { name: 'knip', command: npx('knip', '--no-progress') },
    suiteStep('docs', { after: 'build' }),
    suiteStep('contract', { after: 'build' }),
  ],
]

/** Resolves with the step, its time, how it ended and what it printed. */
function run(step) {
  const started = performance.now()
  const { command, env, empty, live } = step
  if (empty) return Promise.resolve({ ...step, seconds: 0, code: 0, output: '' })
  return new Promise((resolve) => {
    const child = spawn(command[0], command.slice(1), {
      env: { ...process.env, NO_COLOR: live ? undefined : '1', ...env },
      stdio: ['ignore', live ? 'inherit' : 'pipe', live ? 'inherit' : 'pipe'],
      timeout: stepMs,
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text) => {
        output += text
      })
    }
    const end = (code) =>
      resolve({ ...step, seconds: (performance.now() - started) / 1000, code, output })
    child.on('error', (error) => {
      output += error.message
      end(1)
    })
    child.on('close', (code) => end(code ?? 1))
  })
}

const say = (line) => process.stdout.write(`${line}\n`)
const indented = (text) => text.trimEnd().replace(/^/gm, '          ')
const total = { passed: 0, failed: 0, skipped: 0 }

/** What a finished step adds to the sum: a suite its tests, any other step itself. */
function count({ name, events, empty, code }) {
  if (!events) return { passed: code === 0 ? 1 : 0, failed: code === 0 ? 0 : 1, skips: [] }
  if (empty)
    return { passed: 0, failed: 0, skips: [{ title: `suite ${name}`, why: 'no tests yet' }] }
  const lines = existsSync(events) ? readFileSync(events, 'utf8').split('\n').filter(Boolean) : []
  const tests = lines.map((line) => JSON.parse(line))
  const of = (result) => tests.filter((test) => test.result === result)
  // a runner that failed without saying in which test has failed all the same
  const failed = of('failed').length || (code === 0 ? 0 : 1)
  return { passed: of('passed').length, failed, skips: of('skipped'), failures: of('failed') }
}

function report(done) {
  const { passed, failed, skips, failures = [] } = count(done)
  total.passed += passed
  total.failed += failed
  total.skipped += skips.length
  const sums = done.events ? `  ${passed} passed, ${failed} failed, ${skips.length} skipped` : ''
  const verdict = failed > 0 || done.code !== 0 ? 'FAIL' : 'ok'
  say(`${verdict.padEnd(5)}${done.seconds.toFixed(1).padStart(6)} s  ${done.name}${sums}`)
  if (verdict === 'FAIL' && done.output) say(indented(done.output))
  for (const { title, why, problems } of failures) {
    say(`      failed: ${title}${why ? ` (${why})` : ''}`)
    if (!done.live) for (const problem of problems) say(indented(problem))
  }
  for (const { title, why } of skips) say(`      skipped: ${title} (${why})`)
}

/** What each step ended with, by name; a step in the other lane may wait for it. */
const ended = new Map()

async function runLane(steps) {
  for (const step of steps) {
    const before = step.after ? await ended.get(step.after) : undefined
    const result =
      before && before.code !== 0
        ? { ...step, seconds: 0, code: 1, output: `not run, since ${step.after} failed` }
        : run(step)
    ended.set(step.name, result)
    report(await result)
  }
}

try {
  await Promise.all(lanes.map(runLane))
  for (const name of process.argv.slice(2)) {
    report(await run(suiteStep(name, { live: true })))
  }
} finally {
  rmSync(scratch, { recursive: true, force: true })
}
say(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`)
process.exitCode = total.failed > 0 ? 1 : 0
