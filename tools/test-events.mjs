// A reporter for `node --test`: one JSON line for each test that has a title, with its result and the reason of a skip.
import { basename } from 'node:path'

/**
 * tap tells node of each titled test as a suite and of each assertion as a test, so only suites are
 * counted. Node tells of a file itself only where it failed as a whole or had nothing to tell.
 */
export default async function* testEvents(source) {
  for await (const { type, data } of source) {
    if (type !== 'test:pass' && type !== 'test:fail') continue
    const test = judge(type === 'test:pass', data)
    if (test) yield `${JSON.stringify(test)}\n`
  }
}

function judge(passed, { name, file, skip, todo, details }) {
  const isFile = file !== undefined && basename(name) === basename(file)
  if (isFile) {
    // a skip of the whole file reaches node as a pass without its reason
    const why = passed
      ? 'no test of this file was counted; skip tests one by one with { skip: reason }'
      : (details.error?.message ?? 'the file failed')
    return { title: basename(name), result: 'failed', why }
  }
  if (skip !== undefined) {
    return { title: name, result: 'skipped', why: skip === true ? 'it asserts nothing' : skip }
  }
  if (todo !== undefined) return { title: name, result: 'skipped', why: `to do: ${todo}` }
  if (details.type !== 'suite') return undefined
  return { title: name, result: passed ? 'passed' : 'failed' }
}
