// llama.cpp's description against what its builds were seen to do.
import t from 'tap'
import type { Probe } from '../../../engines/engine.ts'
import { engineByName, engines } from '../../../engines/index.ts'
import { llamacpp } from '../../../engines/llamacpp.ts'
import { presetByName, presets } from '../../../engines/presets/index.ts'
import { present } from '../../../kernel/assert.ts'
import { type Header, modelSchema } from '../../../transport/contract/model.ts'

const MiB = 1024 * 1024
const smollm2 = present(presetByName('smollm2-135m'), 'preset')
const header = present(smollm2.header, 'header')

const answer = (status: number, body: unknown): Probe => ({
  met: 'answer',
  status,
  body: typeof body === 'string' ? body : JSON.stringify(body),
})
const ok = answer(200, { status: 'ok' })
const loading = answer(503, {
  error: { message: 'Loading model', type: 'unavailable_error', code: 503 },
})
const lists = (...ids: string[]): Probe => answer(200, { data: ids.map((id) => ({ id })) })

for (const [health, models, expected, why] of [
  [{ met: 'refused' }, { met: 'refused' }, 'starting', 'nobody listens yet'],
  [ok, { met: 'refused' }, 'starting', 'it went away between two probes'],
  [{ met: 'timeout' }, lists('smol'), 'loading', 'a silent one is not ready'],
  [ok, { met: 'timeout' }, 'loading', 'it is healthy and lists nothing in time'],
  [loading, loading, 'loading', 'every path says so while the model loads'],
  [ok, loading, 'loading', 'the load ended between two probes'],
  [answer(200, { status: 'loading' }), lists('smol'), 'loading', 'EN5: 200 is not yet ready'],
  [ok, lists('smol'), 'ready', 'healthy, and its alias is listed'],
  [ok, lists('other', 'smol'), 'ready', 'its alias is among several'],
  [ok, lists('other'), 'stranger', 'another alias'],
  [ok, answer(401, {}), 'stranger', 'it does not know our key'],
  [ok, answer(200, 'hello'), 'stranger', 'it is no such server'],
  [answer(404, ''), answer(404, ''), 'stranger', 'another program listens'],
  [answer(503, 'busy'), answer(503, 'busy'), 'stranger', 'another kind of 503'],
] as const) {
  t.test(`EN5: ${expected} when ${why}`, async (t) => {
    t.equal(llamacpp.readiness(health, models, 'smol'), expected)
  })
}

t.test('EN6: a start carries the key in the environment only', async (t) => {
  const { args, env } = llamacpp.start({
    modelPath: '/m.gguf',
    alias: 'smol',
    host: '127.0.0.1',
    port: 8081,
    key: 'secret',
    profile: { contextTokens: 2048, slots: 3, cores: 1, memoryBytes: 1 },
    homeDir: '/home',
  })
  t.equal(env['LLAMA_API_KEY'], 'secret')
  t.equal(env['OMP_WAIT_POLICY'], 'passive')
  t.notMatch(args.join(' '), /secret/)
  t.match(args.join(' '), /--ctx-size 6144 --parallel 3/, 'the context of all slots')
  t.match(args.join(' '), /--batch-size 512/, 'so that progress moves often')
  t.match(
    args.join(' '),
    /--model \/m\.gguf --alias smol --host 127\.0\.0\.1 --port 8081 --threads 1/,
  )
})

t.test('EN17: running and waiting requests are read, and unknown is null', async (t) => {
  const metrics = [
    '# HELP llamacpp:requests_processing Number of requests processing',
    '# TYPE llamacpp:requests_processing gauge',
    'llamacpp:requests_processing 2',
    'llamacpp:requests_deferred 0',
  ].join('\n')
  t.same(llamacpp.load(metrics), { running: 2, waiting: 0 })
  t.same(llamacpp.load(''), { running: null, waiting: null })
  t.same(llamacpp.load('llamacpp:requests_processing nan'), { running: null, waiting: null })
})

t.test(
  'progress is another number after each step of a prompt, each token, each request',
  async (t) => {
    const page = (id_task: number, processed: number, n_decoded: number): string =>
      JSON.stringify([
        { id: 0, is_processing: false }, // never used
        { id: 1, id_task, n_prompt_tokens_processed: processed, next_token: [{ n_decoded }] },
      ])
    const seen = [page(7, 0, 0), page(7, 512, 0), page(7, 512, 1), page(9, 512, 1)]
    t.equal(new Set(seen.map(llamacpp.progress)).size, 4)
    t.equal(llamacpp.progress('[]'), 0)
    t.equal(llamacpp.progress('Not found'), null)
    t.equal(llamacpp.progress('{"error":{"code":501}}'), null)
  },
)

t.test('one token is counted by its usage', async (t) => {
  const { body, made } = llamacpp.token
  t.same(body('smol'), { model: 'smol', prompt: 'a', max_tokens: 1 })
  const answer = (status: number, body: string): boolean => made({ met: 'answer', status, body })
  t.ok(answer(200, '{"choices":[{"text":""}],"usage":{"completion_tokens":1}}'))
  t.notOk(answer(200, '{"choices":[],"usage":{"completion_tokens":0}}'))
  t.notOk(answer(500, '{"usage":{"completion_tokens":1}}'))
  t.notOk(answer(200, 'ok'))
  t.notOk(made({ met: 'timeout' }))
})

// a step of 512 tokens took 3 to 18 s on one core of a more or less busy machine, xllamacpp 2026.10.11549
t.test('progress may stand for several times the longest step that was measured', async (t) => {
  const smol = llamacpp.stalledAfterMs(98_362_432, 1)
  t.ok(smol > 5 * 18_000, `${smol} ms`)
  t.ok(llamacpp.stalledAfterMs(4_700_000_000, 1) > 1_500_000, 'a large model on one core')
  t.ok(llamacpp.stalledAfterMs(4_700_000_000, 16) < 200_000, 'and on many')
})

// peak resident memory after two prompts of 1,231 tokens, xllamacpp 2026.10.11549, MiB
for (const [contextTokens, slots, measuredMiB] of [
  [4096, 1, 258],
  [8192, 1, 348],
  [2048, 4, 349],
  [4096, 4, 529],
  [8192, 4, 890],
] as const) {
  t.test(`memory of ${slots} x ${contextTokens} tokens covers what was measured`, async (t) => {
    const estimateMiB = llamacpp.memoryBytes(header, { contextTokens, slots }) / MiB
    t.ok(estimateMiB >= measuredMiB, `${estimateMiB} MiB`)
    t.ok(estimateMiB <= measuredMiB * 1.15, `${estimateMiB} MiB`)
  })
}

t.test('heads by layer are summed, and a context is rounded up as the engine does', async (t) => {
  const profile = { contextTokens: 4000, slots: 1 }
  const whole = llamacpp.memoryBytes(header, profile)
  const byLayer: Header = { ...header, headsKv: Array(30).fill(3) }
  t.equal(llamacpp.memoryBytes(byLayer, profile), whole)
  t.equal(llamacpp.memoryBytes(header, { contextTokens: 4096, slots: 1 }), whole)
})

t.test('what a profile leaves open is chosen, what it says stays', async (t) => {
  t.same(llamacpp.choose({}, header, 8), { contextTokens: 4096, slots: 4, cores: 7 })
  t.same(llamacpp.choose({}, { ...header, trainContextTokens: 512 }, 0.5), {
    contextTokens: 512,
    slots: 4,
    cores: 1,
  })
  const said = { contextTokens: 128, slots: 1, cores: 3 }
  t.same(llamacpp.choose(said, header, 2), said)
})

for (const [line, reason, permanent] of [
  ["couldn't bind HTTP server socket, hostname: 127.0.0.1, port: 1", 'its port is in use', false],
  ['llamacpp-launcher: failed to open GGUF file /x: Permission denied', /cannot be opened/, true],
  ["gguf_init_from_file_impl: invalid magic characters: 'abcd'", /not a GGUF/, true],
  [
    "tensor 'x' data is not within the file bounds, model is corrupted or incomplete",
    /cut off/,
    true,
  ],
  ["error loading model architecture: unknown model architecture: 'x'", /architecture/, true],
  [
    'ggml_backend_cpu_buffer_type_alloc_buffer: failed to allocate buffer of size 1',
    /memory/,
    true,
  ],
  ['error: invalid argument: --no-ui', /too old/, true],
  ['Failed to init server, please check the input params.', /could not load/, false],
] as const) {
  t.test(`the log line "${line}" is explained`, async (t) => {
    const found = llamacpp.logMarks.find(({ mark }) => mark.test(line))
    t.match(found, { reason, permanent })
  })
}

t.test('an engine is found by its name, and each name is there once', async (t) => {
  t.equal(engineByName('llamacpp'), llamacpp)
  t.equal(engineByName('no-such'), undefined)
  t.equal(new Set(engines.map(({ name }) => name)).size, engines.length)
})

t.test('EN16: every preset can be added as it ships', async (t) => {
  t.equal(presetByName('no-such'), undefined)
  for (const preset of presets) {
    t.same(modelSchema.parse(preset), preset)
    t.ok(engineByName(preset.engine), `${preset.name} names an engine that is there`)
    t.ok(preset.artifact.sha256, `${preset.name} is pinned by its digest`)
  }
})
