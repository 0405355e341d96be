// Names that stand in subjects and keys: their schemas, and how others are written as one token.
import { z } from 'zod'

/** One token of a subject: a node, router, boot, replica or key id. */
export const tokenSchema = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 of the characters A-Z a-z 0-9 _ -')

/** What a model may be called in requests. */
export const modelNameSchema = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$/,
    'must start with a letter or digit and hold at most 128 letters, digits and . _ : / -',
  )

/** A name as one token of a subject or key: every other character becomes `=` and two hex digits per byte. */
export const toToken = (name: string): string =>
  name.replace(/[^A-Za-z0-9_-]/gu, (char) =>
    Array.from(
      new TextEncoder().encode(char),
      (byte) => `=${byte.toString(16).padStart(2, '0')}`,
    ).join(''),
  )
