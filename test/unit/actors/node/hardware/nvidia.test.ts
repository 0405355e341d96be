// Rows of nvidia-smi as cards, drivers and containers give them.
import t from 'tap'
import {
  gpusIn,
  nvidiaArguments,
  nvidiaFields,
  unknownField,
} from '../../../../../actors/node/hardware/nvidia.ts'

const MiB = 1024 * 1024
const id = 'GPU-5f3d4f0e-0000-0000-0000-000000000001'
const one = (row: string) => gpusIn(`${row}\n`, nvidiaFields)[0]

t.test('all cards are asked for in one call, the name last', async (t) => {
  const [query, format] = nvidiaArguments(nvidiaFields)
  t.match(query, /^--query-gpu=uuid,.*,name$/)
  t.equal(format, '--format=csv,noheader,nounits')
})

t.test('a data-centre card', async (t) => {
  t.same(one(`${id}, 143771, 143000, 9.0, 570.124.06, 00000000:1B:00.0, 12, NVIDIA H200`), {
    uuid: id,
    vendor: 'NVIDIA',
    name: 'NVIDIA H200',
    memoryBytes: 143_771 * MiB,
    memoryFreeBytes: 143_000 * MiB,
    computeCapability: '9.0',
    driver: '570.124.06',
    busId: '00000000:1B:00.0',
    utilizationPercent: 12,
  })
})

t.test('ND1: a card stays whatever cannot be read of it, and unknown is never zero', async (t) => {
  const shared = one(`${id}, [N/A], [N/A], 12.1, 580.95.05, 0000000F:01:00.0, 0, NVIDIA GB10`)
  t.match(shared, { name: 'NVIDIA GB10', memoryBytes: null, memoryFreeBytes: null })
  t.equal(shared?.utilizationPercent, 0, 'a zero that was said')
  const mig = one(`${id}, 81920, 80000, 8.0, 535.161.08, 00000000:01:00.0, [N/A], NVIDIA A100`)
  t.match(mig, { utilizationPercent: null, memoryBytes: 81_920 * MiB })
  const hidden = '[Insufficient Permissions]'
  t.match(one(`${id}, ${hidden}, ${hidden}, 8.0, 535.1, ${hidden}, ${hidden}, A100`), {
    memoryBytes: null,
    busId: null,
  })
  const lost = '[GPU is lost]'
  t.match(one(`${id}, ${lost}, ${lost}, ${lost}, ${lost}, 00000000:01:00.0, ${lost}, ${lost}`), {
    name: 'unknown',
    driver: null,
  })
  t.match(one(`[Unknown Error], 0, 0, -, , 00000000:01:00.0, ERR!, T4`), {
    uuid: '00000000:01:00.0',
    memoryBytes: null,
    computeCapability: null,
  })
  t.match(one(`[N/A], 1, 1, 1, 1, [N/A], 1, T4`), { uuid: 'unknown' })
})

t.test('a name with commas stays whole, and lines may end as on other systems', async (t) => {
  const row = `${id}, 16384, 16000, 7.5, 535.1, 00000000:01:00.0, 5, Tesla T4, rev, 2`
  const gpus = gpusIn(`${row}\r\n${row}\r\n`, nvidiaFields)
  t.same(
    gpus.map(({ name }) => name),
    ['Tesla T4, rev, 2', 'Tesla T4, rev, 2'],
  )
})

t.test('texts of errors are no cards', async (t) => {
  for (const text of [
    'No devices were found',
    'Failed to initialize NVML: Unknown Error',
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
    '',
  ]) {
    t.same(gpusIn(text, nvidiaFields), [])
  }
})

t.test('a field that an older driver does not know is named, and can be left out', async (t) => {
  t.equal(unknownField('Field "compute_cap" is not a valid field to query.'), 'compute_cap')
  t.equal(unknownField('Field "other" is not a valid field to query.'), null)
  t.equal(unknownField('No devices were found'), null)
  const fields = nvidiaFields.filter((field) => field !== 'compute_cap')
  const [gpu] = gpusIn(`${id}, 12, 11, 470.1, 00000000:01:00.0, 5, Tesla K80`, fields)
  t.match(gpu, { name: 'Tesla K80', computeCapability: null, driver: '470.1' })
})
