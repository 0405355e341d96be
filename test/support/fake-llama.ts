// A fake llama.cpp server as a program: argument 1 names a file that says how it behaves, llama-server's flags follow.
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { parseArgs } from 'node:util'

/** How it behaves from its start on; an absent file is a good life. */
export type Life = {
  /** Answers "Loading model" for so long. */
  loadMs?: number
  /** Prints this and exits at once with this code. */
  dies?: { code: number; text: string }
  /** Dies by this signal at once. */
  diesBy?: NodeJS.Signals
  ignoresTerm?: boolean
  /** From the moment on that the file says so it computes nothing any more, while all else of it answers. */
  frozen?: boolean
  /** Likewise it makes tokens that its slots do not show. */
  standing?: boolean
}

const [lifePath = '', ...rest] = process.argv.slice(2)
const lifeNow = (): Life => (existsSync(lifePath) ? JSON.parse(readFileSync(lifePath, 'utf8')) : {})
const life = lifeNow()
const { values } = parseArgs({
  args: rest,
  strict: false,
  options: { host: { type: 'string' }, port: { type: 'string' }, alias: { type: 'string' } },
})

if (life.dies) {
  process.stderr.write(`${life.dies.text} (key ${process.env['LLAMA_API_KEY']})\n`)
  process.exit(life.dies.code)
}
if (life.diesBy) process.kill(process.pid, life.diesBy)
if (life.ignoresTerm) process.on('SIGTERM', () => {})

const readyAt = performance.now() + (life.loadMs ?? 0)
const loading = { error: { message: 'Loading model', type: 'unavailable_error', code: 503 } }

let steps = 0

const server = createServer((request, response) => {
  const answer = (status: number, body: unknown): void => {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  }
  if (performance.now() < readyAt) return answer(503, loading)
  if (request.url === '/health') return answer(200, { status: 'ok' })
  if (request.headers.authorization !== `Bearer ${process.env['LLAMA_API_KEY']}`) {
    return answer(401, { error: { type: 'authentication_error' } })
  }
  if (request.url === '/v1/models') return answer(200, { data: [{ id: values.alias }] })
  if (request.url === '/metrics') {
    return answer(200, 'llamacpp:requests_processing 1\nllamacpp:requests_deferred 0\n')
  }
  const { frozen, standing } = lifeNow()
  if (request.url === '/slots') {
    if (!frozen && !standing) steps += 1
    return answer(200, [
      { id: 0, id_task: 1, n_prompt_tokens_processed: 5, next_token: [{ n_decoded: steps }] },
    ])
  }
  if (request.url === '/v1/completions') {
    if (frozen) return
    process.stderr.write('made one token\n')
    return answer(200, { choices: [{ text: 'a' }], usage: { completion_tokens: 1 } })
  }
  answer(404, {})
})
server.on('error', (error) => {
  process.stderr.write(`couldn't bind HTTP server socket: ${error.message}\n`)
  process.exit(1)
})
server.listen({ host: String(values.host), port: Number(values.port) }, () =>
  process.stderr.write('listening\n'),
)
