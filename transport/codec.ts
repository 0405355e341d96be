// Bytes on the wire and in the store: msgpack of plain values, and nothing else.
import { Packr } from 'msgpackr'
import { failure, messageOf } from '../kernel/errors.ts'
import type { Outcome } from './contract/envelope.ts'

const packr = new Packr({ useRecords: false, mapsAsObjects: true, int64AsType: 'number' })
const maxDepth = 64

/**
 * Packs null, booleans, finite numbers, strings, arrays and plain objects; properties that are
 * undefined are left out. Throws TypeError on anything else, since the sender is then wrong.
 */
export const encode = (value: unknown): Uint8Array => {
  // msgpackr's result shares a slab that its next calls write to
  return new Uint8Array(packr.pack(plain(value, 0)))
}

/** Unpacks what `encode` made; `subject` names where the bytes came from. Never throws, whatever the bytes are. */
export const decode = (bytes: Uint8Array, maxBytes: number, subject: string): Outcome<unknown> => {
  const refuse = (problem: string): Outcome<never> => ({
    ok: false,
    error: failure('LLMGW_BAD_MESSAGE', { subject, problem }),
  })
  if (bytes.byteLength > maxBytes) {
    return refuse(`it has ${bytes.byteLength} bytes, more than ${maxBytes}`)
  }
  try {
    return { ok: true, value: plain(packr.unpack(bytes), 0) }
  } catch (thrown) {
    return refuse(`its bytes cannot be read (${messageOf(thrown).slice(0, 200)})`)
  }
}

/** A copy that holds nothing but plain values: no dates, maps, buffers, big integers or prototypes. */
function plain(value: unknown, depth: number): unknown {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number' && Number.isFinite(value)) return value
  if (depth >= maxDepth) throw new TypeError('nested too deep')
  if (Array.isArray(value)) return value.map((item) => plain(item, depth + 1))
  if (!isPlainObject(value)) throw new TypeError(`not a plain value: ${nameOf(value)}`)
  const copy: Record<string, unknown> = {}
  for (const [key, item] of Object.entries(value)) {
    if (key === '__proto__') throw new TypeError('not a key: __proto__')
    if (item !== undefined) copy[key] = plain(item, depth + 1)
  }
  return copy
}

function isPlainObject(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

const nameOf = (value: unknown): string =>
  typeof value === 'object' ? (value?.constructor.name ?? 'object') : `${typeof value} ${value}`
