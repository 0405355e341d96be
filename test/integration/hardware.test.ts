// This machine looked at for real, and others by their files and a stand-in for nvidia-smi.
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { hardwarePorts } from '../../actors/node/hardware/io/ports.ts'
import { hardwareSchema, loadSchema } from '../../transport/contract/hardware.ts'

const GiB = 1024 ** 3
const warn = (text: string): void => void t.fail(text)

t.test('ND1: what is found here fits the contract', async (t) => {
  const ports = hardwarePorts({ dir: '/', warn })
  const hardware = await ports.probe()
  t.same(hardwareSchema.parse(hardware), hardware)
  t.ok(hardware.cpu.usable <= hardware.cpu.threads)
  const load = await ports.sample()
  t.same(loadSchema.parse(load), load)
  t.ok(load.memoryAvailableBytes > 0 && load.memoryAvailableBytes <= hardware.memoryBytes)
  t.ok(load.diskFreeBytes > 0 && load.diskFreeBytes <= load.diskTotalBytes)
})

t.test('what was wrong at the start of the agent is told with what is found', async (t) => {
  const warnings = ['engines run as root, because …']
  const { warnings: told } = await hardwarePorts({ dir: '/', warn, warnings }).probe()
  t.equal(told[0], warnings[0])
})

const machine = {
  proc: {
    cpuinfo: 'processor\t: 0\nmodel name\t: Test\nflags\t\t: avx2\n',
    meminfo: 'MemTotal:       16777216 kB\nMemFree: 1 kB\nMemAvailable:    8388608 kB\n',
    self: {
      cgroup: '0::/box\n',
      mountinfo: '31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n',
    },
  },
  sys: {
    fs: {
      cgroup: {
        box: {
          'cpu.max': '50000 100000\n',
          'memory.max': `${4 * GiB}\n`,
          'memory.current': `${3 * GiB}\n`,
          'memory.stat': `inactive_file ${GiB}\n`,
        },
      },
    },
    bus: { pci: { devices: { '0000:01:00.0': { vendor: '0x10de\n', class: '0x030200\n' } } } },
  },
  bin: { 'nvidia-smi': '', lscpu: '#!/bin/sh\nexit 1\n' },
}

type Scope = Parameters<Parameters<typeof t.test>[0]>[0]

/** The stand-in for nvidia-smi is the only program beside the shell that is found. */
function machineWith(t: Scope, nvidiaSmi: string) {
  const bin = { ...machine.bin, 'nvidia-smi': `#!/bin/sh\n${nvidiaSmi}\n` }
  const root = t.testdir({ ...machine, bin })
  chmodSync(join(root, 'bin', 'nvidia-smi'), 0o755)
  chmodSync(join(root, 'bin', 'lscpu'), 0o755)
  const path = process.env['PATH']
  process.env['PATH'] = `${join(root, 'bin')}:/usr/bin:/bin`
  t.teardown(() => {
    process.env['PATH'] = path
  })
  return hardwarePorts({ dir: root, warn, root })
}

const row = 'GPU-1, 81559, 81000, 9.0, 570.1, 00000000:01:00.0, 0, NVIDIA H100'

t.test('the limits of a container count before those of its machine', async (t) => {
  const ports = machineWith(t, `echo "${row}"`)
  const hardware = await ports.probe()
  t.match(hardware, { memoryBytes: 4 * GiB, cpu: { usable: 0.5, model: 'Test', flags: ['avx2'] } })
  t.equal((await ports.sample()).memoryAvailableBytes, 2 * GiB)
})

t.test('ND1: a broken tool costs only what it would have told', async (t) => {
  const hardware = await machineWith(t, `echo "${row}"`).probe()
  t.match(hardware.gpus, [{ uuid: 'GPU-1' }])
  t.match(hardware.warnings, [/lscpu/])
})

t.test('a field that the driver does not know costs only itself', async (t) => {
  const [before, after] = [
    row.replace(' 9.0,', ''),
    'Field "compute_cap" is not a valid field to query.',
  ]
  const script = `case "$1" in *compute_cap*) echo '${after}'; exit 2;; *) echo "${before}";; esac`
  const hardware = await machineWith(t, script).probe()
  t.match(hardware.gpus, [{ name: 'NVIDIA H100', computeCapability: null }])
})

t.test('a card whose driver does not answer is warned of, not forgotten', async (t) => {
  const hardware = await machineWith(
    t,
    'echo "Failed to initialize NVML: Unknown Error"; exit 255',
  ).probe()
  t.same(hardware.gpus, [])
  t.match(hardware.warnings.join(), /1 NVIDIA card\(s\) cannot be used: nvidia-smi says: Failed/)
})

t.test('a load that cannot be read is no zero', async (t) => {
  const root = t.testdir({ proc: {} })
  await t.rejects(hardwarePorts({ dir: root, warn, root }).sample(), /no MemAvailable/)
})
