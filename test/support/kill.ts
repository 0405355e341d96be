// The shape of a kill test: something is killed with SIGKILL while a stream runs, and all must come back by itself.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { chat, type Instance, until } from './instance.ts'

/** What each kill aims at, in milliseconds; a test fails at ten times as long. */
const aimMs = 3_000

export type Outcome = { streamEnded: boolean; text: string }

/** Reads a stream to its end; `ended` tells whether it was whole. */
export async function readStream(response: Response): Promise<{ ended: boolean; text: string }> {
  let text = ''
  try {
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk
    }
  } catch (error) {
    text += `\n(broken off: ${String(error)})`
  }
  return { ended: text.trimEnd().endsWith('data: [DONE]'), text }
}

/**
 * Kills a process while a stream runs, waits until its unit runs under another pid and a request
 * is answered, and prints the time that this took.
 */
export async function kill(t: Test, instance: Instance, unit: string): Promise<Outcome> {
  const pid = await instance.pid(unit)
  const streaming = await chat(instance, { stream: true, maxTokens: 300 })
  t.equal(streaming.status, 200, 'a stream runs')
  const stream = readStream(streaming)
  const killedAt = performance.now()
  process.kill(pid, 'SIGKILL')
  await until(`${unit} runs again`, 10 * aimMs, async () => {
    const now = (await instance.status()).programs.find((it) => it.unit === unit)?.pid
    return now != null && now !== pid ? now : null
  })
  await answers(instance)
  const recoveredMs = Math.round(performance.now() - killedAt)
  t.comment(`${unit} killed: whole again after ${recoveredMs} ms (aimed: ${aimMs} ms)`)
  const { ended, text } = await stream
  return { streamEnded: ended, text }
}

/** From the wedge to an answer of the next engine: the stand, the token and the signals take two minutes and a half at most. */
const replacedWithinMs = 200_000

/**
 * Wedges the engine while it makes a stream, waits until another one answers, and prints the time that this took. The stream
 * must end with an error, and the wedged process be gone.
 */
export async function wedge(
  t: Test,
  instance: Instance,
  how: string,
  act: (pid: number) => Promise<void> | void,
): Promise<void> {
  const engine = await instance.enginePid()
  const response = await chat(instance, { stream: true, maxTokens: 3000 })
  t.equal(response.status, 200, 'a stream runs')
  const stream = readStream(response)
  const wedgedAt = performance.now()
  await act(engine)
  await until('another engine is ready', replacedWithinMs, async () => {
    const replica = (await instance.status()).replicas.find((it) => it.state === 'ready')
    return replica !== undefined && replica.pid !== engine ? replica.pid : null
  })
  await answers(instance)
  t.comment(`engine ${how}: whole again after ${Math.round(performance.now() - wedgedAt)} ms`)
  const { ended, text } = await stream
  t.notOk(ended, 'a broken stream is not passed off as a finished one')
  t.match(text, /"error"/, 'the client is told')
  t.throws(() => process.kill(engine, 0), 'the wedged process is gone')
}

/** Resolves when a plain request is answered whole. */
export const answers = (instance: Instance): Promise<true> =>
  until('a request is answered', 10 * aimMs, async () => {
    try {
      return (await chat(instance)).ok || null
    } catch {
      await sleep(20)
      return null // refused: the endpoint is not back yet
    }
  })
