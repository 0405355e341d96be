// The run of one supervisor: takes the instance over or starts it, proves that it answers, and keeps it running.
import { existsSync } from 'node:fs'
import { fullOr } from '../../../actors/node/files/io/disk.ts'
import { LlmgwError } from '../../../kernel/errors.ts'
import { connectAdmin } from '../../admin.ts'
import { type Layout, makeFolders, readMemory, writeMemory } from '../../instance.ts'
import { takeLock } from '../../lock.ts'
import { duration, progress } from '../../output.ts'
import { endAll } from '../down.ts'
import { programsOf } from '../status.ts'
import { ask } from './ask.ts'
import { type Keeper, keepRunning } from './keep.ts'
import { checkPort, instanceOf, natsServer, programs } from './prepare.ts'
import { type Info, infoOf, remembered, seedKey, seedModel, unseedModel } from './seed.ts'
import { untilReady } from './watch.ts'

/** A store with much in it reads it all before it listens. */
const storeWithinMs = 30_000

const question = 'What is the capital of France? Answer in one short sentence.'

export type UpOptions = {
  host?: string
  port?: number
  model?: string
  natsServer?: string
  detach?: boolean
  json?: boolean
}

export type Voice = { line: (text: string) => void; ready: (info: Info) => void }

/** Returns when everything has ended, or at once where another supervisor runs already. */
export async function run(paths: Layout, options: UpOptions, voice: Voice): Promise<void> {
  makeFolders(paths)
  try {
    await runAlone(paths, options, voice)
  } catch (error) {
    throw await fullOr(error, paths.dir)
  }
}

async function runAlone(paths: Layout, options: UpOptions, voice: Voice): Promise<void> {
  const lock = await takeLock(paths.lock)
  if ('heldBy' in lock) return alreadyRunning(paths, options, { pid: lock.heldBy, voice })
  const stopped = new AbortController()
  const onInterrupt = (): void => stopped.abort()
  process.on('SIGINT', onInterrupt)
  try {
    await supervise(paths, options, { voice, signal: stopped.signal })
  } catch (error) {
    if (!stopped.signal.aborted) throw error
  } finally {
    process.off('SIGINT', onInterrupt)
    lock.release()
  }
}

type Scene = { voice: Voice; signal: AbortSignal }

async function supervise(paths: Layout, options: UpOptions, scene: Scene): Promise<void> {
  const say = progress(scene.voice.line)
  const before = readMemory(paths)
  const running = programsOf(paths).filter((it) => it.pid !== null)
  const storeRuns = running.some((it) => it.unit === 'nats-server')
  const memory = await instanceOf(paths, options, storeRuns)
  const ours = running.some((it) => it.name === 'llmgw-router')
  if (!ours || before?.port !== memory.port || before.host !== memory.host) {
    await checkPort(memory.host, memory.port)
  }
  if (running.length > 0) say('llmgw', `taking over ${running.map((it) => it.unit).join(', ')}`)
  const server = await natsServer(paths, options.natsServer, { say, signal: scene.signal })
  const specs = await programs(paths, memory, server)
  writeMemory(paths, memory)
  scene.signal.throwIfAborted()
  const keeper = keepRunning(paths, specs, say)
  try {
    // Asked earlier, a store that is being replaced would lose the question.
    const proven = keeper.running.then(() => prove(paths, options, scene))
    await Promise.race([proven, keeper.failed.then(thrown), aborted(scene.signal)])
    scene.signal.throwIfAborted()
  } catch (error) {
    // What ran before this command is left running.
    if (running.length > 0 && !scene.signal.aborted) await keeper.leave()
    else await end(paths, keeper)
    throw error
  }
  const broken = await Promise.race([aborted(scene.signal), keeper.broken])
  if (broken !== undefined) throw broken
  await end(paths, keeper)
}

/** Ends the programs, and engines whose agent could not end them any more. */
async function end(paths: Layout, keeper: Keeper): Promise<void> {
  await keeper.stop()
  await endAll(paths)
}

const thrown = (error: Error): never => {
  throw error
}

/** Adds what is missing, waits until it answers, and asks it a question. */
async function prove(paths: Layout, options: UpOptions, { voice, signal }: Scene): Promise<void> {
  const admin = await connectAdmin(paths.dir, storeWithinMs, signal)
  try {
    const before = remembered(paths)
    const model = await seedModel(paths, admin, options.model)
    const info = infoOf(paths, await seedKey(paths, admin), model?.name ?? null)
    if (model !== null) {
      try {
        await untilReady(admin, model.name, progress(voice.line), signal)
      } catch (error) {
        if (model.added && !signal.aborted) await unseedModel(paths, admin, before)
        throw error
      }
      voice.line(`\n> ${question}`)
      const said = await ask(info.endpoint, { key: info.key, model: model.name, question, signal })
      voice.line(
        `${said.text}\n\n${said.tokens} tokens at ${said.tokensPerSecond.toFixed(1)} tokens/s; ` +
          `${duration(performance.now())} from the start to the answer`,
      )
    } else {
      voice.line('no model is served; add one with: llmgw ctl models add SOURCE')
    }
    voice.line(usage(paths, info))
    voice.ready(info)
  } finally {
    await admin.close()
  }
}

/** Tells how to use what runs; another address than it has is refused. */
function alreadyRunning(
  paths: Layout,
  options: UpOptions,
  { pid, voice }: { pid: number | null; voice: Voice },
): void {
  const memory = readMemory(paths)
  const differs =
    (options.port !== undefined && options.port !== memory?.port) ||
    (options.host !== undefined && options.host !== memory?.host) ||
    options.model !== undefined
  if (memory === null || differs || !existsSync(paths.apiKey)) {
    throw new LlmgwError('LLMGW_ALREADY_RUNNING', { dir: paths.dir, pid })
  }
  const info = infoOf(paths, null, memory.model)
  voice.line(`llmgw is already running (pid ${pid ?? '?'})`)
  voice.line(usage(paths, info))
  voice.ready(info)
}

/** How to use an instance, for people; the line with curl works as pasted. */
const usage = (paths: Layout, { endpoint, model }: Info): string =>
  `
endpoint  ${endpoint}
key       in ${paths.apiKey}

curl ${endpoint}/chat/completions \\
  -H "Authorization: Bearer $(cat '${paths.apiKey.replaceAll("'", `'\\''`)}')" \\
  -H 'Content-Type: application/json' \\
  -d '{"model": "${model ?? 'MODEL'}", "messages": [{"role": "user", "content": "Hello!"}]}'
`

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((done) => {
    if (signal.aborted) done()
    else signal.addEventListener('abort', () => done(), { once: true })
  })
