// Pure: takes secrets out of text before anybody reads it, by the shapes that secrets have and by their values.

/** What stands in a secret's place. */
export const redacted = '[redacted]'

/** Names of fields whose values are secret wherever they stand. */
export const secretKeys: readonly string[] = [
  'authorization',
  'Authorization',
  'cookie',
  'apiKey',
  'api_key',
  'privateKey',
  'token',
  'secret',
  'password',
  'seed',
  'credentials',
]

const shapes: readonly RegExp[] = [
  /-----BEGIN [A-Z ]*(?:PRIVATE KEY|SEED)-----[\s\S]*?-----END [A-Z ]*(?:PRIVATE KEY|SEED)-----/g,
  /\b(?:Bearer|Basic) [\w.~+/=-]{8,}/gi,
  /\bsk-[\w-]{8,}/g, // ours (sk-llmgw-…) and those of other services
  /\bhf_\w{16,}/g,
  /\bS[UAONCX][A-Z2-7]{56}\b/g, // seeds of nkeys
  /\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}/g, // JSON web tokens
]

/** The text with every secret replaced: those of a known shape, and each of `secrets` (shorter than 8 characters they are ignored: they would be found everywhere). */
export function redactText(text: string, secrets: readonly string[] = []): string {
  let clean = text
  for (const secret of secrets) {
    if (secret.length >= 8) clean = clean.replaceAll(secret, redacted)
  }
  for (const shape of shapes) clean = clean.replace(shape, redacted)
  return clean
}
