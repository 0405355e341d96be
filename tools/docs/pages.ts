// The pages of docs/ that are made from the sources: path and text of each.
import { sources } from '../sources.ts'
import { errorsPage } from './errors.ts'
import { processPage, shardPage } from './states.ts'
import { subjectsPage } from './subjects.ts'
import { timeoutsPage } from './timeouts.ts'

/** Held against the files by test/docs and written by `npm run docs`. */
export const pages: readonly { path: string; text: () => string }[] = [
  { path: 'docs/errors.md', text: errorsPage },
  { path: 'docs/process.md', text: processPage },
  { path: 'docs/shard.md', text: shardPage },
  { path: 'docs/subjects.md', text: subjectsPage },
  { path: 'docs/timeouts.md', text: () => timeoutsPage(sources().map(({ path }) => path)) },
]
