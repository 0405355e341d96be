// Asks nvidia-smi for the cards of this machine.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { execa } from 'execa'
import type { Gpu } from '../../../../transport/contract/hardware.ts'
import { gpusIn, type NvidiaField, nvidiaArguments, nvidiaFields, unknownField } from '../nvidia.ts'
import type { Read } from './read.ts'

/** It initialises the driver at each call, which takes seconds with many cards; a hung driver never answers. */
const answerWithinMs = 5000

/** The cards, and what is to be said where one is there that cannot be asked. */
export async function nvidiaGpus(
  root: string,
  read: Read,
): Promise<{ gpus: Gpu[]; warning: string | null }> {
  let fields: readonly NvidiaField[] = nvidiaFields
  for (;;) {
    const answer = await execa('nvidia-smi', nvidiaArguments(fields), {
      timeout: answerWithinMs,
      killSignal: 'SIGKILL',
      stdin: 'ignore',
      env: { LC_ALL: 'C' },
      reject: false,
      all: true,
    })
    if (!answer.failed) return { gpus: gpusIn(answer.stdout, fields), warning: null }
    const unknown = unknownField(answer.all ?? '')
    const fewer = fields.filter((field) => field !== unknown)
    if (fewer.length < fields.length) {
      fields = fewer
      continue
    }
    const why =
      answer.code === 'ENOENT'
        ? 'nvidia-smi is not installed'
        : answer.timedOut
          ? `nvidia-smi did not answer within ${answerWithinMs / 1000} s`
          : `nvidia-smi says: ${(answer.all ?? '').trim().slice(0, 300)}`
    const cards = await cardsOnTheBus(root, read)
    const warning = cards > 0 ? `${cards} NVIDIA card(s) cannot be used: ${why}` : null
    return { gpus: gpusIn(answer.stdout ?? '', fields), warning }
  }
}

/** Display controllers of NVIDIA, which the kernel shows without any driver. */
async function cardsOnTheBus(root: string, read: Read): Promise<number> {
  const devices = '/sys/bus/pci/devices'
  let count = 0
  for (const name of await readdir(join(root, devices)).catch(() => [])) {
    const vendor = (await read(`${devices}/${name}/vendor`))?.trim()
    const kind = await read(`${devices}/${name}/class`)
    if (vendor === '0x10de' && kind?.startsWith('0x03')) count += 1
  }
  return count
}
