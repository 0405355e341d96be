// Checks child specs before anything starts: the first wrong field is named with its path in the tree.
import type { ChildSpec } from './actor.ts'

// biome-ignore lint/suspicious/noExplicitAny: specs of every kind go through the kernel, which never looks into their messages
export type AnySpec = ChildSpec<any, any, any>

const restarts: readonly string[] = ['permanent', 'transient', 'temporary']
const overflows: readonly string[] = ['refuse', 'drop-oldest']
const strategies: readonly (string | undefined)[] = [undefined, 'one-for-one', 'rest-for-one']

/** Throws with the path of the child, the name of the field, and what it must be. Looks at the children too. */
export function checkSpec(spec: AnySpec, parentPath: string): void {
  const path = `${parentPath}/${spec.name}`
  const check = (fine: boolean, field: string, rule: string) => {
    if (!fine) throw new Error(`child ${path}: ${field} must be ${rule}`)
  }
  const { behaviour, delayMs } = spec
  check(typeof spec.name === 'string' && spec.name !== '', 'name', 'a text that is not empty')
  for (const method of ['init', 'transition', 'perform'] as const) {
    check(typeof behaviour?.[method] === 'function', `behaviour.${method}`, 'a function')
  }
  check(restarts.includes(spec.restart), 'restart', `one of ${restarts.join(', ')}`)
  check(strategies.includes(spec.strategy), 'strategy', 'one-for-one, rest-for-one or left out')
  check(isCount(spec.intensity), 'intensity', 'a whole number of 0 or more')
  check(spec.periodMs > 0, 'periodMs', 'more than 0')
  check(delayMs?.min >= 0, 'delayMs.min', '0 or more')
  check(delayMs?.max >= delayMs?.min, 'delayMs.max', 'delayMs.min or more')
  check(isCount(spec.capacity) && spec.capacity > 0, 'capacity', 'a whole number of 1 or more')
  check(overflows.includes(spec.overflow), 'overflow', `one of ${overflows.join(', ')}`)
  check(spec.stopMs >= 0, 'stopMs', '0 or more')
  const children = spec.children ?? []
  check(areDistinct(children.map((child) => child.name)), 'children', 'of different names')
  for (const child of children) checkSpec(child, path)
}

const isCount = (value: number) => Number.isInteger(value) && value >= 0
const areDistinct = (names: readonly string[]) => new Set(names).size === names.length
