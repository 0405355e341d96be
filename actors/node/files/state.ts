// Decides which files are fetched: one fetch of a file at a time, shared by all that ask.
import type { Failure } from '../../../kernel/errors.ts'
import { type Step, stay } from '../../../kernel/step.ts'
import type { Artifact } from '../../../transport/contract/artifact.ts'
import type { NodeFile, Progress } from '../../../transport/contract/node.ts'
import {
  type Command,
  type Event,
  type FetchEvent,
  type FetchedFile,
  fileKey,
  type Message,
} from './protocol.ts'

type Asker = Command['replyTo']
type Job = { attempt: number; askers: readonly Asker[]; progress: Progress | null }

export type State =
  | { phase: 'scanning'; asked: readonly Command[] }
  | {
      phase: 'open'
      /** How many fetches were begun. */
      attempts: number
      files: ReadonlyMap<string, NodeFile>
      jobs: ReadonlyMap<string, Job>
    }
type Open = Extract<State, { phase: 'open' }>

export type Effect =
  | { do: 'scan' }
  | { do: 'fetch'; key: string; attempt: number; artifact: Artifact }
  | { do: 'tell'; to: Asker; event: FetchEvent }
  | { do: 'say'; event: Event }

export const init = (): Step<State, Effect> => [{ phase: 'scanning', asked: [] }, [{ do: 'scan' }]]

export const transition = (state: State, message: Message): Step<State, Effect> =>
  state.phase === 'scanning' ? scanning(state.asked, message) : open(state, message)

function scanning(asked: readonly Command[], message: Message): Step<State, Effect> {
  switch (message.type) {
    case 'fetch':
      return [{ phase: 'scanning', asked: [...asked, message] }, []]
    case 'unscanned':
      throw new Error(message.reason) // a crash: tried again within the budget, since nothing works without the folder
    case 'scanned': {
      const files = new Map(message.files.map((file) => [file.key, file]))
      let state: Open = { phase: 'open', attempts: 0, files, jobs: new Map() }
      const effects: Effect[] = [say(files)]
      for (const command of asked) {
        const [next, more] = fetch(state, command)
        state = next
        effects.push(...more)
      }
      return [state, effects]
    }
    default:
      return [{ phase: 'scanning', asked }, []] // of an incarnation before
  }
}

function open(state: Open, message: Message): Step<State, Effect> {
  switch (message.type) {
    case 'fetch':
      return fetch(state, message)
    case 'scanned':
    case 'unscanned':
      return stay(state)
    case 'progressed': {
      const job = jobOf(state, message)
      if (!job) return stay(state)
      const jobs = new Map(state.jobs).set(message.key, { ...job, progress: message.progress })
      return [{ ...state, jobs }, tellAll(job, message)]
    }
    case 'fetched': {
      const job = jobOf(state, message)
      return job ? settle(state, job, { type: 'done', file: message.file }) : stay(state)
    }
    case 'missed': {
      const job = jobOf(state, message)
      if (!job) return stay(state)
      return settle(state, job, { type: 'failed', key: message.key, failure: message.failure })
    }
  }
}

/** The job that a fact belongs to; none if the fact is about a fetch that was replaced. */
function jobOf(state: Open, fact: { key: string; attempt: number }): Job | undefined {
  const job = state.jobs.get(fact.key)
  return job?.attempt === fact.attempt ? job : undefined
}

function fetch(state: Open, { artifact, replyTo }: Command): readonly [Open, readonly Effect[]] {
  const key = fileKey(artifact)
  const running = state.jobs.get(key)
  if (running) {
    const jobs = new Map(state.jobs).set(key, { ...running, askers: [...running.askers, replyTo] })
    const { progress } = running
    const told: Effect[] = progress
      ? [{ do: 'tell', to: replyTo, event: { type: 'progress', progress } }]
      : []
    return [{ ...state, jobs }, told]
  }
  const attempt = state.attempts + 1
  const jobs = new Map(state.jobs).set(key, { attempt, askers: [replyTo], progress: null })
  return [{ ...state, attempts: attempt, jobs }, [{ do: 'fetch', key, attempt, artifact }]]
}

type End = { type: 'done'; file: FetchedFile } | { type: 'failed'; key: string; failure: Failure }

function settle(state: Open, job: Job, end: End): Step<State, Effect> {
  const file = fileAfter(end)
  const files = new Map(state.files).set(file.key, file)
  const jobs = new Map(state.jobs)
  jobs.delete(file.key)
  const event: FetchEvent = end.type === 'done' ? end : { type: 'failed', failure: end.failure }
  const told = job.askers.map((to): Effect => ({ do: 'tell', to, event }))
  return [{ ...state, files, jobs }, [...told, say(files)]]
}

function fileAfter(end: End): NodeFile {
  if (end.type === 'failed') {
    return { key: end.key, sizeBytes: null, sha256: null, header: null, failure: end.failure }
  }
  const { key, sizeBytes, sha256, header } = end.file
  return { key, sizeBytes, sha256, header, failure: null }
}

const tellAll = (job: Job, { progress }: { progress: Progress }): Effect[] =>
  job.askers.map((to) => ({ do: 'tell', to, event: { type: 'progress', progress } }))

const say = (files: ReadonlyMap<string, NodeFile>): Effect => ({
  do: 'say',
  event: { type: 'changed', files: [...files.values()] },
})
