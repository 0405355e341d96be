// Changes single fields of a request's bytes and leaves every other byte as it was sent.
import { visit } from 'jsonc-parser'

const asked = new Map([
  ['stream', 'true'],
  ['stream_options', '{"include_usage":true}'],
])

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/** `body`, a valid JSON object, asking for a stream with usage; `saysHow` as `readChat` tells it. */
export function askForStream(body: Uint8Array, saysHow: boolean): Uint8Array {
  const text = saysHow ? decoder.decode(body) : ''
  const found = saysHow ? topLevel(text) : []
  const missing = [...asked].filter(([name]) => !found.some((it) => it.name === name))
  const pieces: Uint8Array[] = []
  let done = 0
  if (missing.length > 0) {
    done = body.indexOf(0x7b) + 1 // before "{" there is only white space
    const fields = missing.map(([name, value]) => `"${name}":${value},`).join('')
    pieces.push(body.subarray(0, done), encoder.encode(fields))
  }
  let bytes = 0
  let units = 0
  for (const { name, from, to } of found) {
    bytes += encoder.encode(text.slice(units, from)).length
    pieces.push(body.subarray(done, bytes), encoder.encode(asked.get(name)))
    bytes += encoder.encode(text.slice(from, to)).length
    done = bytes
    units = to
  }
  pieces.push(body.subarray(done))
  return concatenate(pieces)
}

type Span = { name: string; from: number; to: number }

/** Every value of the asked names at the top level, repetitions too: which of them counts is for the engine to say. */
function topLevel(text: string): Span[] {
  const spans: Span[] = []
  let depth = 0
  let open: { name: string; from: number } | null = null
  const begin = (offset: number): void => {
    if (depth === 1 && open?.from === -1) open.from = offset
    depth += 1
  }
  const end = (to: number): void => {
    depth -= 1
    if (depth === 1 && open) spans.push({ ...open, to })
    if (depth === 1) open = null
  }
  visit(text, {
    onObjectBegin: begin,
    onArrayBegin: begin,
    onObjectEnd: (offset, length) => end(offset + length),
    onArrayEnd: (offset, length) => end(offset + length),
    onObjectProperty(name) {
      if (depth === 1 && asked.has(name)) open = { name, from: -1 }
    },
    onLiteralValue(_value, offset, length) {
      if (depth === 1 && open) spans.push({ name: open.name, from: offset, to: offset + length })
      if (depth === 1) open = null
    },
  })
  return spans
}

function concatenate(pieces: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(pieces.reduce((sum, it) => sum + it.length, 0))
  let at = 0
  for (const piece of pieces) {
    whole.set(piece, at)
    at += piece.length
  }
  return whole
}
