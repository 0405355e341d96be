// A reporter for `node --test`: a JSON line for each titled test with its result, the reason of a skip and what failed.
import { basename } from 'node:path'
import { stripVTControlCharacters } from 'node:util'

/**
 * tap tells node of each titled test as a suite and of each assertion as a test, so only suites are
 * counted. Node tells of a file itself only where it failed as a whole or had nothing to tell.
 */
export default async function* testEvents(source) {
  const printed = new Map()
  const parts = new Map()
  let problems = []
  for await (const { type, data } of source) {
    if (type === 'test:stderr' || type === 'test:stdout') {
      printed.set(data.file, (printed.get(data.file) ?? '') + data.message)
      continue
    }
    if (type !== 'test:pass' && type !== 'test:fail') continue
    const test = judge(type === 'test:pass', data)
    if (isSkipInside(test, parts, data)) continue
    if (test.kind === 'assertion' && test.result !== 'skipped') {
      if (test.result === 'failed') problems.push(textOf(data.details.error))
      continue
    }
    if (test.result === 'failed') {
      const output = test.kind === 'file' ? [printed.get(data.file) ?? ''] : []
      test.problems = [...problems, ...output]
      problems = []
    }
    yield `${JSON.stringify(test)}\n`
  }
}

function judge(passed, { name, file, skip, todo, details }) {
  if (file !== undefined && basename(name) === basename(file)) {
    // a skip of the whole file reaches node as a pass without its reason
    const why = passed
      ? 'no test of this file was counted; skip tests one by one with { skip: reason }'
      : (details.error?.message ?? 'the file failed')
    return { kind: 'file', title: basename(name), result: 'failed', why }
  }
  const kind = details.type === 'suite' ? 'test' : 'assertion'
  if (skip !== undefined) {
    const why = skip === true ? 'it asserts nothing, or is skipped without a reason' : skip
    return { kind, title: name, result: 'skipped', why }
  }
  if (todo !== undefined) return { kind, title: name, result: 'skipped', why: `to do: ${todo}` }
  return { kind, title: name, result: passed ? 'passed' : 'failed' }
}

/** True of a test all of whose parts were skipped: they are counted, and it is not a pass besides. */
function isSkipInside(test, parts, { file, nesting }) {
  if (file === undefined || test.kind === 'file') return false
  const inside = parts.get(nesting + 1) ?? []
  if (test.kind === 'test') parts.delete(nesting + 1)
  parts.set(nesting, [...(parts.get(nesting) ?? []), test.result])
  return test.kind === 'test' && inside.length > 0 && inside.every((result) => result === 'skipped')
}

/** What an assertion said and what caused it; node wraps both in an error of its own. */
function textOf(wrapper) {
  const texts = []
  for (let error = wrapper.cause ?? wrapper; error; error = error.cause) {
    const { message = String(error), stack = '' } = error
    texts.push(stack.includes(message) ? stack : `${message}\n${stack}`)
  }
  return stripVTControlCharacters(texts.join('\ncaused by ')).replace(/ +$/gm, '')
}
