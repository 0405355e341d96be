// The page of errors, made from the catalogue.
import { catalogue } from '../../kernel/errors.ts'

const retries = { no: 'no', yes: 'at once', after: 'after a pause' } as const

/** `docs/errors.md`: one row for each code, in the catalogue's order. */
export function errorsPage(): string {
  const rows = Object.entries(catalogue).map(
    ([code, { status, retry, type, openai, template }]) =>
      `| \`${code}\` | ${status} | ${retries[retry]} | ${type} | ${openai ?? ''} | ${cell(template)} |`,
  )
  return `<!-- Made by \`npm run docs\` from kernel/errors.ts and held against it by test/docs. -->

# Errors

Each error has a code that never changes its meaning and is never used again. At the endpoint it
arrives in OpenAI's shape (\`{"error": {"message", "type", "code", "param"}}\`) with the status
below; \`llmgw\` prints text and code and ends with an exit code other than 0; logs carry the code
as \`code\`. Words in braces are filled in. Where a retry helps only after a pause, the answer has a
\`Retry-After\` header.

| code | status | retry | type | OpenAI's code | text |
| --- | --- | --- | --- | --- | --- |
${rows.join('\n')}
`
}

const cell = (text: string): string => text.replaceAll('|', '\\|')
