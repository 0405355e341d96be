// Checks that hold unless the program is wrong: a failure crashes the actor that found it.

/** Closes a switch over a union: it fails to compile while a member is missing. */
export function assertNever(value: never): never {
  throw new Error(`not a member of its union: ${JSON.stringify(value)}`)
}

/** Narrows away null and undefined; throws with `what` if there is nothing. */
export function present<T>(value: T | null | undefined, what: string): T {
  if (value === null || value === undefined) throw new Error(`missing: ${what}`)
  return value
}
