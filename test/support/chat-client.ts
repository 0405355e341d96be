// Raw requests to a router under test: bodies, streams byte for byte, and clients that leave or do not read.
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import { secret } from './router.ts'

export type AskOptions = {
  stream?: boolean
  body?: string | Buffer
  key?: string
  headers?: Record<string, string>
  fields?: Record<string, unknown>
}

export type Reply = { status: number; headers: Headers; text: string; json: unknown }

export const chatBody = (fields: Record<string, unknown> = {}): string =>
  JSON.stringify({ model: 'fake', messages: [{ role: 'user', content: 'Hi' }], ...fields })

/** A chat request that is waited for to its end. */
export async function ask(url: string, options: AskOptions = {}): Promise<Reply> {
  const { stream = false, key = secret, headers = {}, fields = {} } = options
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: options.body ?? chatBody({ stream, ...fields }),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, json: parse(text) }
}

/** A chat whose client has its socket in its hand. */
export function open(url: string, options: AskOptions = {}): ClientRequest {
  const { stream = true, key = secret, fields = {} } = options
  const request = httpRequest(`${url}/v1/chat/completions`, {
    method: 'POST',
    agent: false,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  })
  request.on('error', () => undefined) // of clients that leave
  request.end(options.body ?? chatBody({ stream, ...fields }))
  return request
}

/** Resolves with the head of its answer. */
export const head = (request: ClientRequest): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    request.once('response', resolve)
    request.once('error', reject)
  })

/** The texts of a stream's deltas, joined, as a client that knows the format reads them. */
export function textOf(stream: string): string {
  return stream
    .split(/\r\n|\n|\r/)
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice(6)) as { choices?: { delta?: { content?: string } }[] })
    .map((chunk) => chunk.choices?.[0]?.delta?.content ?? '')
    .join('')
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // a stream
  }
}
