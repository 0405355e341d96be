// The lock of one supervisor per instance: held by the kernel for as long as the holder lives.
import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { z } from 'zod'
import { LlmgwError } from '../kernel/errors.ts'
import { writeWhole } from '../transport/durable-file.ts'

const holderSchema = z.object({ pid: z.number().int().positive() })

export interface Lock {
  release(): void
}

/**
 * Takes the lock, or answers the pid of its holder.
 * `flock` holds it in a child that ends with our end of its pipe, so that no kill of ours leaves it behind.
 */
export function takeLock(file: string): Promise<Lock | { heldBy: number | null }> {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  return new Promise((done, fail) => {
    const child = spawn('flock', ['-n', '-E', '75', file, '-c', 'echo held; exec cat'], {
      stdio: ['pipe', 'pipe', 'ignore'],
      detached: true,
    })
    child.once('error', (cause) =>
      fail(
        new LlmgwError(
          'LLMGW_TOOL_MISSING',
          { tool: 'flock', remedy: 'install the package util-linux' },
          { cause },
        ),
      ),
    )
    child.once('exit', () => done({ heldBy: holder(file) }))
    child.stdout.once('data', () => {
      writeWhole(`${file}.holder`, JSON.stringify({ pid: process.pid }))
      child.unref()
      done({ release: () => child.stdin.end() })
    })
  })
}

function holder(file: string): number | null {
  try {
    return holderSchema.parse(JSON.parse(readFileSync(`${file}.holder`, 'utf8'))).pid
  } catch {
    return null // between taking the lock and writing the name
  }
}
