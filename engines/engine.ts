// What a description of an engine holds; whoever adds an engine writes one such file and names it in `engines/index.ts`.
import type { Artifact } from '../transport/contract/artifact.ts'
import type { Header, Profile } from '../transport/contract/model.ts'

/** A way to get an engine onto a machine; the forms of a description are tried in order. */
export type InstallForm =
  | {
      /** A program that the operator installed: used when it is on PATH and new enough. */
      form: 'path'
      command: string
      versionArgs: readonly string[]
    }
  | {
      /** One package without dependencies in a Python environment of its own, started through a launcher that ships with llmgw. */
      form: 'python'
      package: string
      version: string
      /** Its wheel for each platform, under the name that its index gives it. */
      wheels: readonly Artifact[]
      /** File beside the description, copied to `dist` by the build; it gets the arguments of a start. */
      launcher: string
    }

/** A profile in which nothing is left open. */
export type DecidedProfile = { [K in keyof Profile]-?: NonNullable<Profile[K]> }

/** What a start is given; every field is decided. */
export type StartPlan = {
  modelPath: string
  alias: string
  host: string
  port: number
  key: string
  profile: DecidedProfile
  /** A private, empty folder. */
  homeDir: string
}

/** What one HTTP probe met. */
export type Probe =
  | { met: 'refused' }
  | { met: 'timeout' }
  | { met: 'answer'; status: number; body: string }

export type Readiness = 'starting' | 'loading' | 'ready' | 'stranger'

/** How an engine is installed, started, watched and stopped. Pure data and functions. */
export interface Engine {
  readonly name: string
  readonly installs: readonly InstallForm[]
  /** Arguments after the program, and the whole environment but PATH, HOME, TMPDIR and LANG. Keys travel in the environment. */
  start(plan: StartPlan): { args: string[]; env: Record<string, string> }
  readonly probes: {
    health: string
    models: string
    metrics: string | null
    progress: string | null
  }
  /** Ready means that it is healthy and answers for its alias (EN5); `stranger`: somebody else answers on the port. */
  readiness(health: Probe, models: Probe, alias: string): Readiness
  /** Requests that it works on and that wait in it; null where it does not tell. */
  load(metrics: string): { running: number | null; waiting: number | null }
  /** A number that is another after each step that it computes for anybody, while it reads a prompt too. Null where it does not tell. */
  progress(page: string): number | null
  /** How long progress may stand while requests run, for a file of `sizeBytes` computed on `cores`: its longest step, with a large reserve. Milliseconds. */
  stalledAfterMs(sizeBytes: number, cores: number): number
  /** A request for one token, made only where progress stands for too long. */
  readonly token: {
    path: string
    body(alias: string): object
    withinMs: number
    /** The answer holds a token; anything else, an error too, does not. */
    made(answer: Probe): boolean
  }
  /** Memory for weights, KV cache, compute buffers and the process, in bytes; the formula names its source. */
  memoryBytes(header: Header, profile: { contextTokens: number; slots: number }): number
  /** Profile with what the definition left open chosen from the header and the machine's cores. */
  choose(profile: Profile, header: Header, usableCores: number): Omit<DecidedProfile, 'memoryBytes'>
  /** Signals to the process group, with the delay after the first, in milliseconds. */
  readonly stop: readonly { signal: NodeJS.Signals; afterMs: number }[]
  /** From start to ready, in milliseconds, for a file of `sizeBytes`. */
  startWithinMs(sizeBytes: number): number
  /** True: a plain request is never cancelled in it, so it is always asked for a stream. */
  readonly alwaysStream: boolean
  /** Reasons that a last log may hold, with what to say of them; the first that matches wins. */
  readonly logMarks: readonly { mark: RegExp; reason: string; permanent: boolean }[]
}
