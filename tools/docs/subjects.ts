// The page of subjects, made from the map of the contract and the permissions of the roles.
import { adminVerbs } from '../../transport/contract/admin.ts'
import {
  buckets,
  permissions,
  type Role,
  roles,
  subjects,
} from '../../transport/contract/subjects.ts'

/** Stands where a program's own name does, which its credentials prove. */
const own = 'NAME'

type Row = { subject: string; kind: 'request' | 'publication' | 'answer'; what: string }

const rows: readonly Row[] = [
  {
    subject: subjects.adm('VERB'),
    kind: 'request',
    what: 'Administration, answered by the acting leader.',
  },
  {
    subject: subjects.act(own, 'BOOT', 'KIND', 'ID'),
    kind: 'request',
    what: 'A command to one actor of a node\'s agent, as long as that start of it lives; answered at once with "taken".',
  },
  {
    subject: subjects.svc('ACTOR', 'VERB', own),
    kind: 'request',
    what: 'A request to an actor of the acting leader; the last token is the caller.',
  },
  {
    subject: subjects.hb(own),
    kind: 'publication',
    what: 'Report of a node or router, once a second.',
  },
  {
    subject: subjects.all('VERB'),
    kind: 'publication',
    what: 'What the leader tells every router.',
  },
  {
    subject: subjects.use(own),
    kind: 'publication',
    what: 'Usage records of one router; none are sent yet.',
  },
  {
    subject: `${subjects.inbox(own)}.>`,
    kind: 'answer',
    what: 'Answers to the requests of one program; whoever was asked may answer once.',
  },
]

const bucketRows = {
  lease: 'Who leads; written by compare-and-set.',
  state: "The leader's records; each write carries the fence of its leadership.",
  route: 'What routers must know; each write carries the fence of its leadership.',
} as const satisfies Record<keyof typeof buckets, string>

/** `docs/subjects.md`. */
export function subjectsPage(): string {
  const subjectLines = rows.map(({ subject, kind, what }) => {
    const answered = kind === 'answer' ? 'who was asked' : rolesFor('publish', subject)
    return `| \`${subject}\` | ${kind} | ${answered} | ${rolesFor('subscribe', subject)} | ${what} |`
  })
  const bucketLines = Object.entries(bucketRows).map(
    ([name, what]) => `| \`${buckets[name as keyof typeof buckets]}\` | ${what} |`,
  )
  return `<!-- Made by \`npm run docs\` from transport/contract and held against it by test/docs. -->

# Subjects

Programs talk over NATS on the subjects below and no others. \`v1\` is the version of the wire. Words
in capitals are filled in; \`${own}\` is the name in the credentials of the program that the rule is
about, and the server lets no other name pass there. Each token is one to 64 of the characters
\`A-Z a-z 0-9 _ -\`; other names are written with \`=\` and two hex digits for each other byte.

| subject | is a | sent by | heard by | what |
| --- | --- | --- | --- | --- |
${subjectLines.join('\n')}

Messages are msgpack: an envelope with version, id, the time that the sender still waits (counted from
arrival), a trace context, and the body that the schemas in \`transport/contract\` describe. Anything
else is answered with \`LLMGW_BAD_MESSAGE\`, counted, and reaches no actor. One connection must not
subscribe twice to what one subject matches: the server then lets none of its answers pass.

## Verbs of administration

${Object.keys(adminVerbs)
  .map((verb) => `\`${subjects.adm(verb)}\``)
  .join(', ')}

## Buckets

| bucket | what |
| --- | --- |
${bucketLines.join('\n')}

## Rights

Each role has a signing key with this template; credentials hold no rights of their own, so that a
change of the templates holds for all at once. \`{{name()}}\` is the name in the credentials.

${roles.map(rightsOf).join('\n')}`
}

function rightsOf(role: Role): string {
  const { publish, subscribe, answers } = permissions[role]
  const list = (them: readonly string[]): string => them.map((it) => `\`${it}\``).join(', ')
  return `### ${role}

- publishes: ${list(publish)}
- subscribes: ${list(subscribe)}
- answers what it is asked: ${answers ? 'yes, once each' : 'no'}
`
}

function rolesFor(way: 'publish' | 'subscribe', subject: string): string {
  const may = roles.filter((role) =>
    permissions[role][way].some((it) => matches(it.replace('{{name()}}', own), subject)),
  )
  return may.length > 0 ? may.join(', ') : 'nobody'
}

function matches(pattern: string, subject: string): boolean {
  const tokens = subject.split('.')
  const parts = pattern.split('.')
  if (parts.at(-1) === '>') {
    return tokens.length >= parts.length && fits(parts.slice(0, -1), tokens)
  }
  return tokens.length === parts.length && fits(parts, tokens)
}

const fits = (parts: readonly string[], tokens: readonly string[]): boolean =>
  parts.every((part, i) => part === '*' || part === tokens[i])
