// The map of subjects, and which of them each role may use.

/** Every subject of the wire is made here and nowhere else. */
export const subjects = {
  /** Administration: a request from `ctl` to the acting leader. */
  adm: (verb: string) => `llmgw.v1.adm.${verb}`,
  /** A command to one actor of one node's incarnation; kinds are `shard`, `files`, `logs` and `node`. */
  act: (node: string, boot: string, kind: string, id: string) =>
    `llmgw.v1.act.${node}.${boot}.${kind}.${id}`,
  /** What a node's agent listens to. */
  actAll: (node: string, boot: string) => `llmgw.v1.act.${node}.${boot}.*.*`,
  /** Reports of nodes and routers, once a second, unanswered. */
  hb: (program: string) => `llmgw.v1.hb.${program}`,
  hbAll: 'llmgw.v1.hb.*',
  /** A request to a leading actor; the caller's credentials prove its last token. */
  svc: (actor: string, verb: string, caller: string) => `llmgw.v1.svc.${actor}.${verb}.${caller}`,
  svcAll: (actor: string, verb: string) => `llmgw.v1.svc.${actor}.${verb}.*`,
  /** What the leader tells every router. */
  all: (verb: string) => `llmgw.v1.all.${verb}`,
  allAll: 'llmgw.v1.all.*',
  /** Usage records of one router. */
  use: (router: string) => `llmgw.v1.use.${router}`,
  inbox: (name: string) => `_INBOX.${name}`,
} as const

export const buckets = { lease: 'llmgw_lease', state: 'llmgw_state', route: 'llmgw_route' } as const

/** The entry of a bucket that says which leadership may write it; never handed to readers. */
export const fenceKey = 'fence'

/** Roles of programs; each has a signing key of its own with this template of permissions. */
export const roles = ['leader', 'router', 'node', 'admin'] as const
export type Role = (typeof roles)[number]

type Permissions = { publish: readonly string[]; subscribe: readonly string[]; answers: boolean }

/** Reads of one bucket by a mirror: stream info, the newest entry, and an ordered consumer. */
const readBucket = (bucket: string): string[] => [
  `$JS.API.STREAM.INFO.KV_${bucket}`,
  `$JS.API.STREAM.MSG.GET.KV_${bucket}`,
  `$JS.API.CONSUMER.CREATE.KV_${bucket}.>`,
  `$JS.API.CONSUMER.DELETE.KV_${bucket}.>`,
  '$JS.FC.>',
]

/** What each role may use; `{{name()}}` is the name in its credentials. */
export const permissions: Readonly<Record<Role, Permissions>> = {
  leader: {
    publish: [
      '$JS.API.>',
      '$JS.ACK.>',
      '$JS.FC.>',
      ...Object.values(buckets).map((bucket) => `$KV.${bucket}.>`),
      'llmgw.v1.act.>',
      subjects.allAll,
    ],
    subscribe: [
      '_INBOX.{{name()}}.>',
      'llmgw.v1.adm.*',
      'llmgw.v1.svc.>',
      subjects.hbAll,
      'llmgw.v1.use.*',
    ],
    answers: true,
  },
  router: {
    publish: [
      ...readBucket(buckets.route),
      'llmgw.v1.hb.{{name()}}',
      'llmgw.v1.svc.*.*.{{name()}}',
      'llmgw.v1.use.{{name()}}',
    ],
    subscribe: ['_INBOX.{{name()}}.>', subjects.allAll],
    answers: false,
  },
  node: {
    publish: ['llmgw.v1.hb.{{name()}}', 'llmgw.v1.svc.*.*.{{name()}}'],
    subscribe: ['_INBOX.{{name()}}.>', 'llmgw.v1.act.{{name()}}.>'],
    answers: true,
  },
  admin: {
    publish: ['llmgw.v1.adm.*'],
    subscribe: ['_INBOX.{{name()}}.>'],
    answers: false,
  },
}
