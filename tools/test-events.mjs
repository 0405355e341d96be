// A reporter for `node --test`: a JSON line for each titled test with its result, the reason of a skip and what failed.
import { basename } from 'node:path'
import { stripVTControlCharacters } from 'node:util'

/**
 * tap tells node of each titled test as a suite and of each assertion as a test, so only suites are
 * counted. Node tells of a file itself only where it failed as a whole or had nothing to tell.
 */
export default async function* testEvents(source) {
  const printed = new Map()
  let problems = []
  for await (const { type, data } of source) {
    if (type === 'test:stderr' || type === 'test:stdout') {
      printed.set(data.file, (printed.get(data.file) ?? '') + data.message)
      continue
    }
    if (type !== 'test:pass' && type !== 'test:fail') continue
    const test = judge(type === 'test:pass', data)
    if (test === undefined) {
      if (type === 'test:fail') problems.push(textOf(data.details.error))
      continue
    }
    if (test.result === 'failed') {
      test.problems = test.isFile ? [...problems, printed.get(data.file) ?? ''] : problems
      problems = []
    }
    yield `${JSON.stringify(test)}\n`
  }
}

function judge(passed, { name, file, skip, todo, details }) {
  const isFile = file !== undefined && basename(name) === basename(file)
  if (isFile) {
    // a skip of the whole file reaches node as a pass without its reason
    const why = passed
      ? 'no test of this file was counted; skip tests one by one with { skip: reason }'
      : (details.error?.message ?? 'the file failed')
    return { title: basename(name), result: 'failed', why, isFile }
  }
  if (skip !== undefined) {
    const why = skip === true ? 'it asserts nothing, or is skipped without a reason' : skip
    return { title: name, result: 'skipped', why }
  }
  if (todo !== undefined) return { title: name, result: 'skipped', why: `to do: ${todo}` }
  if (details.type !== 'suite') return undefined
  return { title: name, result: passed ? 'passed' : 'failed' }
}

const textOf = (error) =>
  stripVTControlCharacters(String(error?.cause?.stack ?? error?.stack ?? error))
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')
