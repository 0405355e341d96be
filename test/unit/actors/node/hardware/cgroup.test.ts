// Limits of cgroups, from texts as kernels and containers give them.
import t from 'tap'
import {
  groupsOf,
  memoryLimitIn,
  memoryUsedIn,
  quotaIn,
} from '../../../../../actors/node/hardware/cgroup.ts'

const mount2 = '31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate'
const mount1 = (controller: string, root = '/') =>
  `35 31 0:32 ${root} /sys/fs/cgroup/${controller} rw,relatime - cgroup cgroup rw,${controller}`

t.test('version 2: the own group first, then all above it', async (t) => {
  t.same(groupsOf('memory', '0::/system.slice/llmgw.service\n', `${mount2}\n`), {
    version: 2,
    folders: [
      '/sys/fs/cgroup/system.slice/llmgw.service',
      '/sys/fs/cgroup/system.slice',
      '/sys/fs/cgroup',
    ],
  })
})

t.test('a mixed system: version 1 has the controllers that it mounts', async (t) => {
  const cgroup = '4:memory:/jobs/7\n1:name=systemd:/\n0::/\n'
  const mountinfo = [
    mount1('memory'),
    '41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw',
  ].join('\n')
  t.same(groupsOf('memory', cgroup, mountinfo), {
    version: 1,
    folders: [
      '/sys/fs/cgroup/memory/jobs/7',
      '/sys/fs/cgroup/memory/jobs',
      '/sys/fs/cgroup/memory',
    ],
  })
  t.same(groupsOf('cpu', cgroup, mountinfo), { version: 2, folders: ['/sys/fs/cgroup/unified'] })
})

t.test('a container that sees only its own part of the tree', async (t) => {
  const mountinfo = mount1('memory', '/docker/abc')
  t.same(groupsOf('memory', '4:memory:/docker/abc/inner\n', mountinfo).folders, [
    '/sys/fs/cgroup/memory/inner',
    '/sys/fs/cgroup/memory',
  ])
  t.same(groupsOf('memory', '4:memory:/docker/abc\n', mountinfo).folders, ['/sys/fs/cgroup/memory'])
  t.same(groupsOf('memory', '0::/../other\n', mount2).folders, [
    '/sys/fs/cgroup/other',
    '/sys/fs/cgroup',
  ])
})

t.test('without cgroups there are no folders', async (t) => {
  t.same(groupsOf('memory', '', ''), { version: 2, folders: [] })
})

for (const [texts, expected] of [
  [['max 100000\n'], null],
  [['150000 100000\n'], 1.5],
  [['-1\n', '100000\n'], null],
  [['25000\n', '100000\n'], 0.25],
  [[null], null],
] as const) {
  t.test(`the quota ${JSON.stringify(texts)} gives ${expected} CPUs`, async (t) => {
    t.equal(quotaIn(texts), expected)
  })
}

for (const [texts, expected] of [
  [['max\n', 'max\n'], null],
  [['1073741824\n', '536870912\n'], 536_870_912],
  [['9223372036854771712\n'], null],
  [['1073741824\n'], 1_073_741_824],
  [[null, null], null],
] as const) {
  t.test(`the memory limits ${JSON.stringify(texts)} give ${expected}`, async (t) => {
    t.equal(memoryLimitIn(texts), expected)
  })
}

t.test('page cache that nobody used lately does not count as used', async (t) => {
  t.equal(memoryUsedIn(['1000\n', 'anon 5\ninactive_file 300\n']), 700)
  t.equal(memoryUsedIn(['1000\n', 'inactive_file 1\ntotal_inactive_file 400\n']), 600)
  t.equal(memoryUsedIn(['1000\n', null]), 1000)
  t.equal(memoryUsedIn(['100\n', 'inactive_file 300\n']), 0)
  t.equal(memoryUsedIn([null, null]), null)
})
