// What a schema found wrong, in one line for people; pure.
import type { ZodError, ZodType } from 'zod'

/** The first field that is wrong, "(whole)" where it is all of it, and what is wrong with it. */
export function firstIssue(error: ZodError): { field: string; problem: string } {
  const [issue] = error.issues
  return { field: issue?.path.join('.') || '(whole)', problem: issue?.message ?? error.message }
}

/** The same as one text. */
export function problemOf(error: ZodError): string {
  const { field, problem } = firstIssue(error)
  return `${field}: ${problem}`.slice(0, 500)
}

/** Throws an error that says in one line what is wrong with the text: no JSON, or not of the schema. */
export function parseJson<T>(schema: ZodType<T>, text: string): T {
  const parsed = schema.safeParse(JSON.parse(text))
  if (parsed.success) return parsed.data
  throw new Error(problemOf(parsed.error))
}
