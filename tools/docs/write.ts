// Writes the pages that are made from the sources; `npm run docs` builds and runs it.
import { writeFileSync } from 'node:fs'
import { pages } from './pages.ts'

for (const { path, text } of pages) writeFileSync(path, text())
