// Changes single fields of a request's bytes and leaves every other byte as it was sent.
import { createScanner } from 'jsonc-parser'

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

/**
 * Every value of the asked names at the top level, repetitions too: which of them counts is for the engine to say.
 * By the scanner and not by a tree: it does not mind how deep a body nests.
 */
function topLevel(text: string): Span[] {
  const scanner = createScanner(text, true)
  const spans: Span[] = []
  let depth = 0
  let name: string | null = null
  let from = -1
  for (;;) {
    scanner.scan()
    const at = scanner.getTokenOffset()
    if (at >= text.length) return spans
    const mark = text[at] ?? ''
    const opens = mark === '{' || mark === '['
    if (mark === '}' || mark === ']') depth -= 1
    if (depth === 1 && mark !== ':' && mark !== ',') {
      if (name === null) name = scanner.getTokenValue()
      else {
        if (from === -1) from = at
        if (!opens) {
          if (asked.has(name)) spans.push({ name, from, to: at + scanner.getTokenLength() })
          name = null
          from = -1
        }
      }
    }
    if (opens) depth += 1
  }
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
