// The lock of one supervisor per instance: held by the kernel for as long as the holder lives.
import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { z } from 'zod'
import { isAlive, statOf } from '../actors/process/io/identity.ts'
import { LlmgwError } from '../kernel/errors.ts'
import { writeWhole } from '../transport/durable-file.ts'

const holderSchema = z.object({ pid: z.number().int().positive(), startTicks: z.number() })

/** Exit code of `flock` where another holds the lock. */
const taken = 75

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
    const child = spawn('flock', ['-n', '-E', `${taken}`, file, '-c', 'echo held; exec cat'], {
      stdio: ['pipe', 'pipe', 'pipe'],
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
    let said = ''
    child.stderr.on('data', (text) => {
      said += text
    })
    child.once('close', (code) => {
      if (code === taken) return done({ heldBy: holder(file) })
      const problem = said.trim() || `flock ended with ${code}`
      fail(new LlmgwError('LLMGW_FOLDER_UNUSABLE', { path: dirname(file), problem }))
    })
    child.stdout.once('data', () => {
      child.removeAllListeners('close')
      child.unref()
      child.stderr.destroy()
      try {
        const { pid } = process
        const startTicks = statOf(pid)?.startTicks ?? 0
        writeWhole(`${file}.holder`, JSON.stringify({ pid, startTicks }))
      } catch (error) {
        child.stdin.end()
        fail(error)
      }
      done({ release: () => child.stdin.end() })
    })
  })
}

function holder(file: string): number | null {
  try {
    const holder = holderSchema.parse(JSON.parse(readFileSync(`${file}.holder`, 'utf8')))
    return isAlive(holder) ? holder.pid : null // the name of the one before
  } catch {
    return null // between taking the lock and writing the name
  }
}
