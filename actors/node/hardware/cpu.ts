// Reads what a CPU is out of the texts of lscpu and /proc/cpuinfo.
import { z } from 'zod'
import type { Hardware } from '../../../transport/contract/hardware.ts'
import { parseJson } from '../../../transport/contract/problem.ts'

/** What can be read of a CPU; what a text does not say is null. */
export type Cpu = Pick<
  Hardware['cpu'],
  'model' | 'sockets' | 'cores' | 'numaNodes' | 'l3Bytes' | 'flags'
>

type Field = { field: string; data?: string | null | undefined; children?: Field[] | undefined }
const fieldSchema: z.ZodType<Field> = z.lazy(() =>
  z.object({
    field: z.string(),
    data: z.string().nullish(),
    children: z.array(fieldSchema).optional(),
  }),
)
const lscpuSchema = z.object({ lscpu: z.array(fieldSchema) })

/** From `lscpu --json --bytes`, whose newer versions nest their fields. Throws on other text. */
export function cpuOfLscpu(json: string): Cpu {
  const values = new Map<string, string>()
  const collect = ({ field, data, children }: Field): void => {
    if (data) values.set(field.replace(/:$/, ''), data)
    for (const child of children ?? []) collect(child)
  }
  for (const field of parseJson(lscpuSchema, json).lscpu) collect(field)
  const sockets = whole(values.get('Socket(s)'))
  const perSocket = whole(values.get('Core(s) per socket'))
  return {
    model: values.get('Model name') ?? null,
    sockets,
    cores: sockets !== null && perSocket !== null ? sockets * perSocket : null,
    numaNodes: whole(values.get('NUMA node(s)')),
    l3Bytes: whole(values.get('L3 cache') ?? values.get('L3')),
    flags: words(values.get('Flags')),
  }
}

/** From /proc/cpuinfo, whose keys differ by architecture. */
export function cpuOfCpuinfo(text: string): Cpu {
  const blocks = text.split(/\n\s*\n/).map(
    (block) =>
      new Map(
        block.split('\n').map((line) => {
          const [key = '', ...value] = line.split(':')
          return [key.trim(), value.join(':').trim()] as const
        }),
      ),
  )
  const first = blocks[0]
  const packages = new Set<string>()
  const cores = new Set<string>()
  for (const block of blocks) {
    const packageId = block.get('physical id')
    if (packageId === undefined) continue
    packages.add(packageId)
    cores.add(`${packageId} ${block.get('core id')}`)
  }
  return {
    model: first?.get('model name') ?? null,
    sockets: packages.size || null,
    cores: cores.size || null,
    numaNodes: null,
    l3Bytes: null,
    flags: words(first?.get('flags') ?? first?.get('Features')),
  }
}

/** The number that a value begins with: `33554432 (1 instance)`; `-` is none. */
function whole(value: string | undefined): number | null {
  const digits = /^\d+/.exec(value ?? '')?.[0]
  return digits === undefined ? null : Number(digits)
}

const words = (text: string | undefined): string[] => text?.split(/\s+/).filter(Boolean) ?? []
