// Completes dist after the compiler: copies what is not TypeScript, and makes the command executable.
import { chmodSync, cpSync, existsSync, readdirSync } from 'node:fs'
import { extname, join } from 'node:path'

const kinds = new Set(['.py', '.sh', '.json'])
for (const top of ['kernel', 'transport', 'engines', 'actors', 'bin']) {
  if (!existsSync(top)) continue
  for (const entry of readdirSync(top, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !kinds.has(extname(entry.name))) continue
    const path = join(entry.parentPath ?? entry.path, entry.name)
    cpSync(path, join('dist', path))
  }
}

const command = 'dist/bin/llmgw.js'
if (existsSync(command)) chmodSync(command, 0o755)
