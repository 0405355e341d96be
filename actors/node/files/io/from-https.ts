// Fetches a file by HTTP, resuming what an earlier try left, through the proxies that the environment names.
import { createWriteStream } from 'node:fs'
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { type Dispatcher, EnvHttpProxyAgent, interceptors, request } from 'undici'
import { z } from 'zod'
import { parseJson } from '../../../../transport/contract/problem.ts'
import { demandRoom } from './disk.ts'

type Options = {
  /** A folder of its own; what an earlier try left in it is resumed. */
  dir: string
  onBytes: (doneBytes: number) => void
  signal?: AbortSignal | undefined
}

/** To the server or its proxy; the next source is tried sooner than a person gives up. */
const connectWithinMs = 10_000
/** Longest silence of the server, before and within its answer. */
const silenceMs = 30_000

/** Which answer a part belongs to: the server is asked for the rest only if it still has this one. */
const originSchema = z.object({ url: z.string(), validator: z.string() })

/** The path of the file. Throws with the reason in words; what was got stays for the next try. */
export async function fromHttps(url: string, options: Options): Promise<string> {
  await mkdir(options.dir, { recursive: true })
  const agent = new EnvHttpProxyAgent({
    connectTimeout: connectWithinMs,
    headersTimeout: silenceMs,
    bodyTimeout: silenceMs,
  })
  const dispatcher = agent.compose(
    interceptors.redirect({ maxRedirections: 5 }),
    interceptors.retry({ maxRetries: 3 }),
  )
  try {
    return await download(url, options, dispatcher)
  } finally {
    await agent.destroy()
  }
}

async function download(url: string, options: Options, dispatcher: Dispatcher): Promise<string> {
  const { dir, onBytes, signal } = options
  const part = join(dir, 'part')
  const had = await leftOver(dir, url)
  const headers = {
    'accept-encoding': 'identity',
    ...(had && { range: `bytes=${had.sizeBytes}-`, 'if-range': had.validator }),
  }
  const answer = await request(url, { dispatcher, headers, signal: signal ?? null })
  answer.body.on('error', () => {}) // whoever reads it is told; left unread, it would end the program
  const resumed =
    had !== null &&
    answer.statusCode === 206 &&
    String(answer.headers['content-range']).startsWith(`bytes ${had.sizeBytes}-`)
  if (!resumed && answer.statusCode !== 200) {
    await answer.body.dump()
    if (had === null) throw new Error(`the server answered ${answer.statusCode}`)
    // the part is whole already, or of no use: once more without it
    await rm(part, { force: true })
    return download(url, options, dispatcher)
  }
  if (!resumed) await noteOrigin(dir, url, answer.headers)
  let doneBytes = resumed ? had.sizeBytes : 0
  const restBytes = Number(answer.headers['content-length'])
  if (restBytes > 0) await demandRoom(dir, restBytes)
  await pipeline(
    answer.body,
    async function* (chunks: AsyncIterable<Buffer>) {
      for await (const chunk of chunks) {
        doneBytes += chunk.length
        onBytes(doneBytes)
        yield chunk
      }
    },
    createWriteStream(part, { flags: resumed ? 'a' : 'w' }),
    { signal },
  )
  return part
}

async function leftOver(
  dir: string,
  url: string,
): Promise<{ sizeBytes: number; validator: string } | null> {
  try {
    const origin = parseJson(originSchema, await readFile(join(dir, 'origin'), 'utf8'))
    const { size } = await stat(join(dir, 'part'))
    return origin.url === url && size > 0 ? { sizeBytes: size, validator: origin.validator } : null
  } catch {
    return null // no part, or one whose origin is unknown: begun anew
  }
}

/** Remembers what a later try needs to resume; a server that names no version of its file is begun anew each time. */
async function noteOrigin(
  dir: string,
  url: string,
  headers: Record<string, string | string[] | undefined>,
): Promise<void> {
  const { etag, 'last-modified': lastModified } = headers
  const strong = typeof etag === 'string' && !etag.startsWith('W/') ? etag : undefined
  const validator = strong ?? lastModified
  await rm(join(dir, 'origin'), { force: true })
  if (typeof validator === 'string') {
    await writeFile(join(dir, 'origin'), JSON.stringify({ url, validator }))
  }
}
