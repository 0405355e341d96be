// CPUs as lscpu and /proc/cpuinfo describe them.
import t from 'tap'
import { cpuOfCpuinfo, cpuOfLscpu } from '../../../../../actors/node/hardware/cpu.ts'

const fields = [
  { field: 'Architecture:', data: 'x86_64' },
  { field: 'Model name:', data: 'AMD EPYC 9355' },
  { field: 'Core(s) per socket:', data: '32' },
  { field: 'Socket(s):', data: '2' },
  { field: 'Flags:', data: 'fpu avx2 avx512f' },
  { field: 'L3 cache:', data: '536870912 (16 instances)' },
  { field: 'NUMA node(s):', data: '4' },
]
const expected = {
  model: 'AMD EPYC 9355',
  sockets: 2,
  cores: 64,
  numaNodes: 4,
  l3Bytes: 536_870_912,
  flags: ['fpu', 'avx2', 'avx512f'],
}

t.test('lscpu of Debian 12', async (t) => {
  t.same(cpuOfLscpu(JSON.stringify({ lscpu: fields })), expected)
})

t.test('newer versions nest fields, and say "-" or null for what is unknown', async (t) => {
  const nested = [
    { field: 'Vendor ID:', data: 'AuthenticAMD', children: fields.slice(1, 5) },
    {
      field: 'Caches (sum of all):',
      data: null,
      children: [{ field: 'L3:', data: '1 (1 instance)' }],
    },
    { field: 'NUMA:', data: null, children: [{ field: 'NUMA node(s):', data: '-' }] },
  ]
  const cpu = cpuOfLscpu(JSON.stringify({ lscpu: nested }))
  t.same(cpu, { ...expected, l3Bytes: 1, numaNodes: null })
})

t.test('other text is refused', async (t) => {
  t.throws(() => cpuOfLscpu('lscpu: unrecognized option'))
  t.throws(() => cpuOfLscpu('{}'))
})

t.test('/proc/cpuinfo of x86: cores and sockets are counted by their ids', async (t) => {
  const block = (id: number, core: number) =>
    `processor\t: ${id}\nmodel name\t: Xeon: gold\nphysical id\t: 0\ncore id\t\t: ${core}\nflags\t\t: fpu sse\n`
  t.same(cpuOfCpuinfo([block(0, 0), block(1, 1), block(2, 0)].join('\n')), {
    model: 'Xeon: gold',
    sockets: 1,
    cores: 2,
    numaNodes: null,
    l3Bytes: null,
    flags: ['fpu', 'sse'],
  })
})

t.test('/proc/cpuinfo of ARM names neither model nor cores', async (t) => {
  const cpu = cpuOfCpuinfo('processor\t: 0\nFeatures\t: fp asimd\nCPU part\t: 0xd0c\n\n')
  t.match(cpu, { model: null, sockets: null, cores: null, flags: ['fp', 'asimd'] })
})
