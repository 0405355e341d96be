// The reporter that counts tests, over a file with a test of every outcome.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const counted = fileURLToPath(new URL('../../support/counted.js', import.meta.url))

function eventsOf(file: string) {
  // a runner that finds itself inside another runs nothing
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const reporter = `--test-reporter=${join(process.cwd(), 'tools/test-events.mjs')}`
  const { stdout } = spawnSync(process.execPath, ['--test', reporter, file], {
    env,
    encoding: 'utf8',
  })
  return stdout
    .split('\n')
    .filter(Boolean)
    .map((line): Record<string, unknown> => JSON.parse(line))
}

t.test('titled tests are counted, with the reasons of skips and what failed', async (t) => {
  const events = eventsOf(counted)
  t.same(events.map(({ title, result, why }) => [title, result, why]).sort(), [
    ['a server', 'skipped', 'no such server here'],
    ['asserts nothing', 'skipped', 'it asserts nothing, or is skipped without a reason'],
    ['inner fails', 'failed', undefined],
    ['inner passes', 'passed', undefined],
    ['is skipped', 'skipped', 'no such tool here'],
    ['outer', 'failed', undefined],
    ['passes', 'passed', undefined],
  ])
  t.match(events.find(({ title }) => title === 'inner fails')?.['problems'], [/one is two/])
})

t.test('a file that is skipped as a whole, or breaks, is a failure', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'llmgw-events-'))
  t.teardown(() => rmSync(dir, { recursive: true }))
  const whole = join(dir, 'whole.test.mjs')
  writeFileSync(whole, "console.log('1..0 # SKIP no reason reaches the runner')")
  t.match(eventsOf(whole), [
    { title: 'whole.test.mjs', result: 'failed', why: /skip tests one by one/ },
  ])
  const broken = join(dir, 'broken.test.mjs')
  writeFileSync(broken, "throw new Error('broken at load')")
  t.match(eventsOf(broken), [
    { title: 'broken.test.mjs', result: 'failed', problems: [/broken at load/] },
  ])
})
