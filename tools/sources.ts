// The repository's files as documents and tests of the house read them: paths from its root.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const programs = ['kernel', 'transport', 'engines', 'actors', 'bin', 'console']

/** Files beneath the folders whose names end in one of `endings`. */
export const filesIn = (folders: readonly string[], endings: readonly string[]): string[] =>
  folders
    .filter((folder) => existsSync(folder))
    .flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
    )
    .filter((path) => endings.some((ending) => path.endsWith(ending)))
    .sort()

export type Source = { path: string; text: string }

/** What the programs are made of: no tests, no tools. */
export const sources = (): Source[] =>
  filesIn(programs, ['.ts']).map((path) => ({ path, text: readFileSync(path, 'utf8') }))

/** The pages for people: README.md and docs/. */
export const documents = (): Source[] =>
  [...['README.md'].filter((path) => existsSync(path)), ...filesIn(['docs'], ['.md'])].map(
    (path) => ({ path, text: readFileSync(path, 'utf8') }),
  )
