// llama.cpp: its HTTP server, from the pinned package xllamacpp behind our launcher, or an operator's llama-server.
import { z } from 'zod'
import type { Artifact } from '../transport/contract/artifact.ts'
import type { Header, Profile } from '../transport/contract/model.ts'
import type { Engine, Probe, Readiness, StartPlan } from './engine.ts'

const MiB = 1024 * 1024

const wheel: Artifact = {
  name: 'xllamacpp',
  version: '2026.10.11549',
  platform: 'linux-x64',
  licence: 'MIT',
  fileName: 'xllamacpp-2026.10.11549-cp310-abi3-manylinux2014_x86_64.manylinux_2_17_x86_64.whl',
  executable: false,
  sizeBytes: 33_827_498,
  sha256: 'c54e7d13520ecc989c63dc99d55de3065e2f343a91f43f053d16b5e62077c261',
  sources: [
    {
      kind: 'index',
      package: 'xllamacpp',
      version: '2026.10.11549',
      sha256: ['c54e7d13520ecc989c63dc99d55de3065e2f343a91f43f053d16b5e62077c261'],
    },
  ],
}

/** Tokens of a prompt that one step computes: llama.cpp's default micro-batch. */
const ubatchTokens = 512
/** A busy or swapping machine may hold any program up for so long; to it comes the longest step. */
const leastStallMs = 60_000
/**
 * Bytes of the file that a core gets through in a second of a step of 512 tokens. Measured with 98 MB on one core: 3 s a step
 * on a free machine, 18 s on a crowded one; a longer context takes more, so a tenth of the best is assumed.
 */
const stepBytesPerSecond = 3_000_000
/** In an engine that stands, nothing is ahead of it; a step that ends meanwhile counts as progress, and then no token is needed. */
const tokenWithinMs = 30_000

export const llamacpp: Engine = {
  name: 'llamacpp',
  installs: [
    {
      form: 'python',
      package: wheel.name,
      version: wheel.version,
      wheels: [wheel],
      launcher: 'llamacpp-launcher.py',
    },
    { form: 'path', command: 'llama-server', versionArgs: ['--version'] },
  ],
  start,
  probes: { health: '/health', models: '/v1/models', metrics: '/metrics', progress: '/slots' },
  readiness,
  load: (metrics) => ({
    running: gauge(metrics, 'llamacpp:requests_processing'),
    waiting: gauge(metrics, 'llamacpp:requests_deferred'),
  }),
  progress,
  stalledAfterMs: (sizeBytes, cores) =>
    leastStallMs + (sizeBytes / cores / stepBytesPerSecond) * 1000,
  token: {
    path: '/v1/completions',
    body: (alias) => ({ model: alias, prompt: 'a', max_tokens: 1 }),
    withinMs: tokenWithinMs,
    made: (answer) =>
      answer.met === 'answer' &&
      answer.status === 200 &&
      parsed(completionSchema, answer.body) !== undefined,
  },
  memoryBytes,
  choose,
  // The first signal stops the work but waits for open requests without end; the second exits at once.
  stop: [
    { signal: 'SIGTERM', afterMs: 0 },
    { signal: 'SIGTERM', afterMs: 2000 },
    { signal: 'SIGKILL', afterMs: 7000 },
  ],
  // A minute for the process, and the file at 50 MB/s, a slow disk's rate.
  startWithinMs: (sizeBytes) => 60_000 + sizeBytes / 50_000,
  alwaysStream: true,
  logMarks: [
    mark(/couldn't bind HTTP server socket/, 'its port is in use', false),
    mark(/failed to open GGUF file/, "the model's file cannot be opened", true),
    mark(/invalid magic characters/, "the model's file is not a GGUF file", true),
    mark(
      /not within the file bounds|corrupted or incomplete|gguf_init_from_reader: failed to read/,
      "the model's file is cut off",
      true,
    ),
    mark(/unknown model architecture/, 'this build does not know the architecture', true),
    mark(
      /failed to allocate|std::bad_alloc|out of memory|failed to fit params/,
      'it did not get the memory that model, context and slots need',
      true,
    ),
    mark(/no kernel image is available/, 'this build has no code for the card', true),
    mark(/invalid argument: --/, 'this build of llama-server is too old for our flags', true),
    mark(/failed to load model|Failed to init server/, 'it could not load the model', false),
  ],
}

function mark(mark: RegExp, reason: string, permanent: boolean): Engine['logMarks'][number] {
  return { mark, reason, permanent }
}

function start(plan: StartPlan): { args: string[]; env: Record<string, string> } {
  const { contextTokens, slots, cores } = plan.profile
  return {
    args: [
      ...['--model', plan.modelPath, '--alias', plan.alias],
      ...['--host', plan.host, '--port', String(plan.port)],
      ...['--threads', String(cores)],
      // the whole of all slots
      ...['--ctx-size', String(contextTokens * slots), '--parallel', String(slots)],
      // with 2048 at once, the default, progress stands and other slots wait four times as long, and nothing is won
      ...['--batch-size', String(ubatchTokens)],
      // prompts kept beside the slots would take memory that nobody reserved, 8 GiB by default
      ...['--cache-ram', '0'],
      ...['--metrics', '--no-ui', '--offline'],
    ],
    // Spinning threads that wait for one another are up to fifty times slower as soon as anything else runs.
    env: { OMP_WAIT_POLICY: 'passive', LLAMA_API_KEY: plan.key },
  }
}

const healthSchema = z.object({ status: z.literal('ok') })
const loadingSchema = z.object({ error: z.object({ type: z.literal('unavailable_error') }) })
const slotsSchema = z.array(
  z.object({
    id_task: z.number().default(0),
    n_prompt_tokens_processed: z.number().default(0),
    next_token: z.array(z.object({ n_decoded: z.number() })).default([]),
  }),
)
const completionSchema = z.object({ usage: z.object({ completion_tokens: z.number().min(1) }) })
const modelsSchema = z.object({ data: z.array(z.object({ id: z.string() })) })

function readiness(health: Probe, models: Probe, alias: string): Readiness {
  for (const probe of [health, models]) {
    if (probe.met === 'refused') return 'starting'
    if (probe.met === 'timeout') return 'loading'
    if (probe.status === 503 && parsed(loadingSchema, probe.body)) return 'loading'
  }
  if (health.met !== 'answer' || models.met !== 'answer') return 'loading'
  if (health.status !== 200 || models.status !== 200) return 'stranger' // a 401 among them: not our key
  if (!parsed(healthSchema, health.body)) return 'loading'
  const listed = parsed(modelsSchema, models.body)?.data.some(({ id }) => id === alias)
  return listed ? 'ready' : 'stranger'
}

function parsed<T>(schema: z.ZodType<T>, body: string): T | undefined {
  try {
    return schema.safeParse(JSON.parse(body)).data
  } catch {
    return undefined // not JSON: another program's answer
  }
}

/**
 * From the slots, all of which one loop computes: the metrics have six digits only, so that past a million steps
 * `n_decode_total` stands through many. A slot that was never used has none of these fields.
 */
function progress(page: string): number | null {
  const slots = parsed(slotsSchema, page)
  if (slots === undefined) return null
  return slots.reduce((sum, slot) => {
    const decoded = slot.next_token.reduce((tokens, it) => tokens + it.n_decoded, 0)
    return sum + slot.id_task + slot.n_prompt_tokens_processed + decoded
  }, 0)
}

function gauge(metrics: string, name: string): number | null {
  const value = new RegExp(`^${name} (\\S+)$`, 'm').exec(metrics)?.[1]
  const number = Number(value)
  return value !== undefined && Number.isInteger(number) && number >= 0 ? number : null
}

/**
 * The sum, with its sources (llama.cpp b11549, SmolLM2-135M; measured peaks were 3 to 12 % below it):
 * 1. weights: the tensors, mapped once;
 * 2. KV cache: keys and values of every layer in 16 bits for every token of every slot (`llama_kv_cache: size`, exact);
 * 3. compute buffers: the widest activations of one pass in 32 bits, about 13 embeddings a token (`compute buffer size`; 16 here),
 *    the 16-bit mask of a slot's context, and the logits of each slot;
 * 4. process: interpreter, libraries and threads, 57 MiB in all, of which the vocabulary's tables are taken as 256 bytes a token.
 */
function memoryBytes(
  header: Header,
  { contextTokens, slots }: { contextTokens: number; slots: number },
): number {
  const slotTokens = Math.ceil(contextTokens / 256) * 256 // llama.cpp rounds up
  const headsKv =
    typeof header.headsKv === 'number'
      ? header.headsKv * header.layers
      : header.headsKv.reduce((sum, heads) => sum + heads, 0)
  const cache = headsKv * (header.keyLength + header.valueLength) * 2 * slotTokens * slots
  const activations = ubatchTokens * 16 * header.embeddingLength * 4
  const mask = ubatchTokens * slotTokens * 2
  const logits = slots * header.vocabulary * 4
  const process = 64 * MiB + header.vocabulary * 256
  return Math.ceil(header.weightsBytes + cache + activations + mask + logits + process)
}

/**
 * Context: 4096 tokens, which hold a chat of several turns, or what the model was trained for if that is less.
 * Slots: four, llama-server's own choice. Cores: all but one, which the rest of the machine needs while the engine computes.
 */
function choose(
  profile: Profile,
  header: Header,
  usableCores: number,
): { contextTokens: number; slots: number; cores: number } {
  return {
    contextTokens: profile.contextTokens ?? Math.min(header.trainContextTokens ?? 4096, 4096),
    slots: profile.slots ?? 4,
    cores: profile.cores ?? Math.max(1, Math.floor(usableCores) - 1),
  }
}
