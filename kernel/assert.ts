// Checks that hold unless the program is wrong: a failure crashes the actor that found it.

/** Closes a switch over a union: it fails to compile while a member is missing. Its error names the kind alone, since the rest may be secret. */
export function assertNever(value: never): never {
  const { type, phase } = Object(value) as { type?: unknown; phase?: unknown }
  throw new Error(`not a member of its union: ${String(type ?? phase ?? typeof value)}`)
}

/** Narrows away null and undefined; throws with `what` if there is nothing. */
export function present<T>(value: T | null | undefined, what: string): T {
  if (value === null || value === undefined) throw new Error(`missing: ${what}`)
  return value
}
