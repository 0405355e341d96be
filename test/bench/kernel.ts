// The kernel against nact used directly, side by side in one run: times belong to the machine, ratios to the code.
import { dispatch, type Ref as NactRef, query, spawn, start, stop } from 'nact'
import type { Behaviour, ChildSpec, Ref } from '../../kernel/actor.ts'
import { systemClock } from '../../kernel/clock.ts'
import { type System, startSystem } from '../../kernel/system.ts'

const rounds = 9
const messages = 50_000
const asks = 5_000

const specOf = <S, M, E>(name: string, behaviour: Behaviour<S, M, E>): ChildSpec<S, M, E> => ({
  name,
  behaviour,
  restart: 'temporary',
  intensity: 0,
  periodMs: 1,
  delayMs: { min: 0, max: 0 },
  capacity: messages,
  overflow: 'refuse',
  stopMs: 1000,
})

/** Counts its messages and calls `done` at the last. */
function floodKernel(system: System, done: () => void): void {
  const behaviour: Behaviour<number, 'count', 'done'> = {
    init: () => [0, []],
    transition: (count) => [count + 1, count + 1 === messages ? ['done'] : []],
    perform: done,
  }
  const ref = system.spawn(specOf('counter', behaviour))
  for (let sent = 0; sent < messages; sent += 1) ref.tell('count')
}

function floodNact(root: ReturnType<typeof start>, done: () => void): void {
  const receive = (count = 0) => {
    if (count + 1 === messages) done()
    return count + 1
  }
  const ref = spawn(root, receive, 'counter')
  for (let sent = 0; sent < messages; sent += 1) dispatch(ref, 'count')
}

type Question = { reply: (answer: number) => void }

/** One question at a time, each asked at the answer to the last. */
function askKernel(system: System, done: () => void): void {
  const answering: Behaviour<null, Question, Question> = {
    init: () => [null, []],
    transition: (state, question) => [state, [question]],
    perform: ({ reply }) => reply(1),
  }
  const to = system.spawn(specOf('answering', answering)) as Ref<never>
  const asking: Behaviour<number, 'answered', 'ask' | 'done'> = {
    init: () => [asks, ['ask']],
    transition: (left) => [left - 1, [left > 1 ? 'ask' : 'done']],
    perform(effect, self) {
      if (effect === 'done') done()
      else
        self.ask<number>(
          to,
          (reply) => ({ reply }),
          1000,
          () => 'answered',
        )
    },
  }
  system.spawn(specOf('asking', asking))
}

async function askNact(root: ReturnType<typeof start>, done: () => void): Promise<void> {
  const ref = spawn(root, (_state: null, to: NactRef<number>) => dispatch(to, 1), 'answering')
  for (let asked = 0; asked < asks; asked += 1) await query(ref, (to: NactRef<number>) => to, 1000)
  done()
}

async function timeKernel(work: (system: System, done: () => void) => void): Promise<number> {
  const system = startSystem({ clock: systemClock })
  const startedAt = performance.now()
  await new Promise<void>((done) => work(system, done))
  const tookMs = performance.now() - startedAt
  await system.stop()
  return tookMs
}

async function timeNact(
  work: (root: ReturnType<typeof start>, done: () => void) => unknown,
): Promise<number> {
  const root = start()
  const startedAt = performance.now()
  await new Promise<void>((done) => work(root, done))
  const tookMs = performance.now() - startedAt
  stop(root)
  return tookMs
}

/** The medians of rounds that take turns, as one line. */
async function compare(
  name: string,
  count: number,
  kernel: () => Promise<number>,
  direct: () => Promise<number>,
): Promise<void> {
  const times: { kernel: number[]; direct: number[] } = { kernel: [], direct: [] }
  for (let round = 0; round < rounds; round += 1) {
    times.kernel.push(await kernel())
    times.direct.push(await direct())
  }
  const [ours, theirs] = [median(times.kernel), median(times.direct)]
  const each = (tookMs: number) => `${((tookMs * 1000) / count).toFixed(2)} us`
  const ratio = (ours / theirs).toFixed(2)
  process.stdout.write(`${name}: kernel ${each(ours)}, nact ${each(theirs)}, ratio ${ratio}\n`)
}

const median = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN

await compare(
  'flood, a message',
  messages,
  () => timeKernel(floodKernel),
  () => timeNact(floodNact),
)
await compare(
  'ask, one at a time',
  asks,
  () => timeKernel(askKernel),
  () => timeNact(askNact),
)
