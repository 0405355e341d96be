// Reads the answers of nvidia-smi: every card appears, and a field that cannot be read is null.
import type { Gpu } from '../../../transport/contract/hardware.ts'

/** The fields that are asked for; the name stands last, since it may hold commas. */
export const nvidiaFields = [
  'uuid',
  'memory.total',
  'memory.free',
  'compute_cap',
  'driver_version',
  'pci.bus_id',
  'utilization.gpu',
  'name',
] as const
export type NvidiaField = (typeof nvidiaFields)[number]

/** Arguments of the one call for all cards. */
export const nvidiaArguments = (fields: readonly NvidiaField[]): string[] => [
  `--query-gpu=${fields.join(',')}`,
  '--format=csv,noheader,nounits',
]

/** The field that an older driver does not know, for which it refuses the whole call. */
export function unknownField(output: string): NvidiaField | null {
  const name = /Field "([^"]+)" is not a valid field/.exec(output)?.[1]
  return nvidiaFields.find((field) => field === name) ?? null
}

/** A card for each line that names one, in the order of the lines. */
export function gpusIn(csv: string, fields: readonly NvidiaField[]): Gpu[] {
  return csv.split(/\r?\n/).flatMap((line) => {
    const values = line.split(', ')
    const at = (field: NvidiaField): string | null => {
      const index = fields.indexOf(field)
      if (index < 0) return null
      const last = index === fields.length - 1
      const value = last ? values.slice(index).join(', ') : values[index]
      return known(value)
    }
    if (values.length < fields.length) return [] // an error's text: those come on the same stream
    const memoryMiB = numberIn(at('memory.total'))
    return [
      {
        uuid: at('uuid') ?? at('pci.bus_id') ?? 'unknown',
        vendor: 'NVIDIA',
        name: at('name') ?? 'unknown',
        // 0 is what cards say that share the machine's memory
        memoryBytes: memoryMiB ? mebibytes(memoryMiB) : null,
        memoryFreeBytes: memoryMiB ? mebibytes(numberIn(at('memory.free'))) : null,
        computeCapability: at('compute_cap'),
        driver: at('driver_version'),
        busId: at('pci.bus_id'),
        utilizationPercent: numberIn(at('utilization.gpu')),
      },
    ]
  })
}

const mebibytes = (count: number | null): number | null =>
  count === null ? null : count * 1024 * 1024

/** Null for the many ways in which it says that there is no value. */
function known(value: string | undefined): string | null {
  const text = value?.trim() ?? ''
  const none =
    /^$|^-$|^ERR!$|^\[?(N\/A|Not Supported|Insufficient Permissions|Unknown Error|Function Not Found|Not Found|GPU is lost|GPU requires reset)\]?$/
  return none.test(text) ? null : text
}

function numberIn(value: string | null): number | null {
  const number = Number(value ?? Number.NaN)
  return Number.isFinite(number) ? number : null
}
