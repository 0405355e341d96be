// The pages of docs/ that are made from the sources: path and text of each.
import { errorsPage } from './errors.ts'

/** Held against the files by test/docs and written by `npm run docs`. */
export const pages: readonly { path: string; text: () => string }[] = [
  { path: 'docs/errors.md', text: errorsPage },
]
