// The one catalogue of errors: code, HTTP status, whether to retry, OpenAI's type and code, and the text.
// As long as there are errors: each code once, in one place.

type Entry = {
  /** HTTP status at the endpoint; 500 where the error never reaches it. */
  status: number
  retry: 'no' | 'yes' | 'after'
  /** `error.type` in OpenAI's error shape. */
  type: string
  /** `error.code` in OpenAI's error shape. */
  openai: string | null
  /** Text with `{field}` placeholders filled from the details; says what to do. */
  template: string
}

export const catalogue = {
  // requests at the endpoint
  LLMGW_INVALID_REQUEST: {
    status: 400,
    retry: 'no',
    type: 'invalid_request_error',
    openai: null,
    template: '{problem}',
  },
  LLMGW_INVALID_API_KEY: {
    status: 401,
    retry: 'no',
    type: 'invalid_request_error',
    openai: 'invalid_api_key',
    template:
      'The API key is missing or wrong. Send it as "Authorization: Bearer KEY"; `llmgw ctl keys create` makes one.',
  },
  LLMGW_MODEL_NOT_FOUND: {
    status: 404,
    retry: 'no',
    type: 'invalid_request_error',
    openai: 'model_not_found',
    template: 'There is no model "{model}" here. GET /v1/models lists those there are.',
  },
  LLMGW_PATH_NOT_FOUND: {
    status: 404,
    retry: 'no',
    type: 'invalid_request_error',
    openai: 'not_found',
    template:
      'There is nothing at {method} {path}. There are POST /v1/chat/completions and GET /v1/models.',
  },
  LLMGW_METHOD_NOT_ALLOWED: {
    status: 405,
    retry: 'no',
    type: 'invalid_request_error',
    openai: 'method_not_allowed',
    template: '{path} does not take {method}; use {allowed}.',
  },
  LLMGW_BODY_TOO_LARGE: {
    status: 413,
    retry: 'no',
    type: 'invalid_request_error',
    openai: 'request_too_large',
    template:
      'The request is larger than {limitBytes} bytes, the limit of this endpoint. Send a smaller one.',
  },
  LLMGW_NO_REPLICA: {
    status: 503,
    retry: 'after',
    type: 'server_error',
    openai: 'overloaded',
    template: 'No replica of "{model}" is ready. Try again in a moment.',
  },
  LLMGW_BUFFERS_FULL: {
    status: 503,
    retry: 'after',
    type: 'server_error',
    openai: 'overloaded',
    template: 'The gateway holds as many bytes of requests as it may. Try again in a moment.',
  },
  LLMGW_SHUTTING_DOWN: {
    status: 503,
    retry: 'after',
    type: 'server_error',
    openai: 'overloaded',
    template: 'This gateway process is stopping. Try again.',
  },
  LLMGW_ENGINE_UNREACHABLE: {
    status: 502,
    retry: 'yes',
    type: 'server_error',
    openai: 'upstream_error',
    template: 'The engine of "{model}" did not answer. Try again.',
  },
  LLMGW_ENGINE_BROKE_OFF: {
    status: 502,
    retry: 'yes',
    type: 'server_error',
    openai: 'upstream_error',
    template: 'The engine of "{model}" broke off before its answer was whole. Try again.',
  },
  LLMGW_ENGINE_TIMEOUT: {
    status: 504,
    retry: 'yes',
    type: 'server_error',
    openai: 'timeout',
    template:
      'The engine of "{model}" said nothing for {seconds} s. Try again, or with a shorter prompt.',
  },
  LLMGW_ENGINE_UNSUITABLE: {
    status: 502,
    retry: 'no',
    type: 'server_error',
    openai: 'upstream_error',
    template:
      'The engine of "{model}" gave an answer that cannot be read: {problem}. Its log may say why: `llmgw ctl logs`',
  },
  // between programs
  LLMGW_BAD_MESSAGE: {
    status: 500,
    retry: 'no',
    type: 'server_error',
    openai: null,
    template:
      'A message on {subject} is not what the contract says: {problem}. Correct that, or bring both programs to one version.',
  },
  LLMGW_WIRE_VERSION: {
    status: 500,
    retry: 'no',
    type: 'server_error',
    openai: null,
    template:
      'A message has wire version {found}; this program reads {supported}. Upgrade the older program.',
  },
  LLMGW_NO_ANSWER: {
    status: 500,
    retry: 'yes',
    type: 'server_error',
    openai: null,
    template:
      'Nobody answered on {subject} within {withinMs} ms. Is the program running? `llmgw status`',
  },
  LLMGW_NO_LEADER: {
    status: 500,
    retry: 'after',
    type: 'server_error',
    openai: null,
    template: 'No leader answers. It may be starting; look with `llmgw status`, then try again.',
  },
  LLMGW_SUBJECT_FORBIDDEN: {
    status: 500,
    retry: 'no',
    type: 'server_error',
    openai: null,
    template: 'These credentials may not use the subject {subject}. Use those of a role that may.',
  },
  LLMGW_HANDLER_FAILED: {
    status: 500,
    retry: 'no',
    type: 'server_error',
    openai: null,
    template:
      'The program that takes {subject} failed at it. Its log says why; please report it as a bug.',
  },
  LLMGW_NATS_UNREACHABLE: {
    status: 500,
    retry: 'yes',
    type: 'server_error',
    openai: null,
    template: 'nats-server at {url} cannot be reached: {problem}. Is it running? `llmgw status`',
  },
  LLMGW_CREDENTIALS_REFUSED: {
    status: 500,
    retry: 'no',
    type: 'server_error',
    openai: null,
    template:
      'nats-server at {url} refuses the credentials of {name}: {problem}. They were revoked, or belong to another cluster: remove their file in credentials/, and `llmgw up` makes new ones.',
  },
  LLMGW_STALE_COMMAND: {
    status: 500,
    retry: 'no',
    type: 'server_error',
    openai: null,
    template:
      'The command carries the leadership token {token}; {highest} has been seen. Its sender no longer leads; the present leader sends its own.',
  },
  LLMGW_MAILBOX_FULL: {
    status: 500,
    retry: 'after',
    type: 'server_error',
    openai: null,
    template: 'The actor {actor} has no room for another message. Try again in a moment.',
  },
  LLMGW_STORE_FAILED: {
    status: 500,
    retry: 'yes',
    type: 'server_error',
    openai: null,
    template:
      'The store did not take or give {key}: {problem}. `llmgw status` shows whether it runs.',
  },
  LLMGW_FENCED: {
    status: 500,
    retry: 'no',
    type: 'server_error',
    openai: null,
    template:
      'The store refused a write of {key}: another leader has taken over. Ask again, and that one answers.',
  },
  // administration
  LLMGW_MODEL_EXISTS: {
    status: 409,
    retry: 'no',
    type: 'invalid_request_error',
    openai: null,
    template:
      'There is a model "{model}" already. Remove it first: `llmgw ctl models remove {model}`',
  },
  LLMGW_MODEL_UNKNOWN: {
    status: 404,
    retry: 'no',
    type: 'invalid_request_error',
    openai: null,
    template: 'There is no model "{model}". `llmgw ctl models list` shows those there are.',
  },
  LLMGW_REPLICA_UNKNOWN: {
    status: 404,
    retry: 'no',
    type: 'invalid_request_error',
    openai: null,
    template: 'There is no replica "{replica}". `llmgw ctl replicas` shows those there are.',
  },
  LLMGW_NODE_UNKNOWN: {
    status: 404,
    retry: 'no',
    type: 'invalid_request_error',
    openai: null,
    template: 'There is no node "{node}". `llmgw ctl nodes` shows those there are.',
  },
  LLMGW_KEY_UNKNOWN: {
    status: 404,
    retry: 'no',
    type: 'invalid_request_error',
    openai: null,
    template: 'There is no key "{key}". `llmgw ctl keys list` shows those there are.',
  },
  LLMGW_SCOPE_UNKNOWN: {
    status: 404,
    retry: 'no',
    type: 'invalid_request_error',
    openai: null,
    template: 'There is no scope "{scope}". Leave it out for the whole cluster.',
  },
  LLMGW_DEFINITION_INVALID: {
    status: 400,
    retry: 'no',
    type: 'invalid_request_error',
    openai: null,
    template: 'The definition is wrong at {field}: {problem}.',
  },
  LLMGW_CONFIG_INVALID: {
    status: 500,
    retry: 'no',
    type: 'server_error',
    openai: null,
    template: 'The setting {field} (from {source}) is wrong: {problem}.',
  },
  // the machine
  LLMGW_PORT_IN_USE: {
    status: 500,
    retry: 'no',
    type: 'server_error',
    openai: null,
    template:
      'Port {port} on {host} is in use by another program. Choose another with --port, or end that program.',
  },
  LLMGW_LISTEN_FAILED: {
    status: 500,
    retry: 'no',
    type: 'server_error',
    openai: null,
    template:
      'Cannot listen at {host}:{port}: {problem}. Set listen.host to an address of this machine, and listen.port to one that this user may open.',
  },
  LLMGW_HTTP_UNAVAILABLE: {
    status: 500,
    retry: 'no',
    type: 'server_error',
    openai: null,
    template:
      'The HTTP server (uWebSockets.js) does not load here: {problem}. It needs Linux with glibc 2.27 or newer (2.38 for Node 24) on x64 or arm64, and Node 20, 22 or 24; run `npm ci` again if its files are missing.',
  },
  LLMGW_DISK_FULL: {
    status: 500,
    retry: 'no',
    type: 'server_error',
    openai: null,
    template:
      'No room on the disk of {path}: {neededBytes} more bytes are needed, {freeBytes} are free. Free some, or choose another folder with --dir.',
  },
  LLMGW_FOLDER_UNUSABLE: {
    status: 500,
    retry: 'no',
    type: 'server_error',
    openai: null,
    template: 'The folder {path} cannot be used: {problem}. Choose another with --dir.',
  },
  LLMGW_NOT_RUNNING: {
    status: 500,
    retry: 'no',
    type: 'server_error',
    openai: null,
    template:
      'Nothing runs with the folder {dir}. Start it with `llmgw up`, or name its folder with --dir.',
  },
  LLMGW_NOT_SERVED: {
    status: 500,
    retry: 'no',
    type: 'server_error',
    openai: null,
    template:
      'The model "{model}" cannot be served: {problem}\nMend that and start again, or choose another with --model.',
  },
  LLMGW_PROGRAM_FAILED: {
    status: 500,
    retry: 'no',
    type: 'server_error',
    openai: null,
    template: 'The program {program} does not stay up: {problem}. Its log: {log}',
  },
  LLMGW_ALREADY_RUNNING: {
    status: 500,
    retry: 'no',
    type: 'server_error',
    openai: null,
    template:
      'llmgw is already running with the folder {dir} (pid {pid}), and is not changed by this. End it first with `llmgw down`; `llmgw ctl models add` adds a model to it.',
  },
  LLMGW_DOES_NOT_END: {
    status: 500,
    retry: 'yes',
    type: 'server_error',
    openai: null,
    template:
      'The supervisor of {dir} (pid {pid}) has not ended within {seconds} s. Kill it (kill -9 {pid}), then run `llmgw down` again.',
  },
  LLMGW_RECORD_UNREADABLE: {
    status: 500,
    retry: 'no',
    type: 'server_error',
    openai: null,
    template:
      'The run record {path} cannot be read: {problem}. Nothing is started beside what it may describe; remove the file once no process of it runs.',
  },
  LLMGW_SLOT_TAKEN: {
    status: 500,
    retry: 'after',
    type: 'server_error',
    openai: null,
    template:
      'Something that was started in {dir} still runs, and nothing else is started there. `fuser {dir}/slot` shows it.',
  },
  LLMGW_LAUNCH_FAILED: {
    status: 500,
    retry: 'no',
    type: 'server_error',
    openai: null,
    template: '{program} could not be started: {problem}.',
  },
  LLMGW_MODEL_UNREADABLE: {
    status: 500,
    retry: 'no',
    type: 'server_error',
    openai: null,
    template:
      'The engine may not read its model {path}: {problem}. Engines run as users of their own; give others that right, or move the file to a folder that they can enter.',
  },
  LLMGW_TOOL_MISSING: {
    status: 500,
    retry: 'no',
    type: 'server_error',
    openai: null,
    template: 'The command {tool} is needed and was not found: {remedy}.',
  },
  LLMGW_NATS_TOO_OLD: {
    status: 500,
    retry: 'no',
    type: 'server_error',
    openai: null,
    template:
      'nats-server at {where} has version {found}; {needed} or newer is needed, since older ones lose fenced writes. Remove it from the path, or name a newer one with --nats-server.',
  },
  LLMGW_IDENTITY_DAMAGED: {
    status: 500,
    retry: 'no',
    type: 'server_error',
    openai: null,
    template:
      'The keys in {path} cannot be used: {problem}. Restore them from a backup; new ones would not open what the old ones protect.',
  },
  LLMGW_EXPORT_UNUSABLE: {
    status: 500,
    retry: 'no',
    type: 'server_error',
    openai: null,
    template: 'Nothing was imported from {name}: {problem}. Take another copy of the export.',
  },
  LLMGW_ARTIFACT_UNAVAILABLE: {
    status: 500,
    retry: 'after',
    type: 'server_error',
    openai: null,
    template: 'No source has {artifact}. {tried} {remedies}',
  },
  LLMGW_FETCH_FAILED: {
    status: 500,
    retry: 'after',
    type: 'server_error',
    openai: null,
    template: '{artifact} could not be fetched: {problem}.',
  },
  LLMGW_DIGEST_MISMATCH: {
    status: 500,
    retry: 'no',
    type: 'server_error',
    openai: null,
    template:
      '{artifact} from {source} has the digest {found}, not {expected}: it was changed or damaged and is not used. Clear what a proxy or mirror keeps of it, or name another source.',
  },
  LLMGW_GGUF_INVALID: {
    status: 500,
    retry: 'no',
    type: 'server_error',
    openai: null,
    template:
      'The file {path} is not a GGUF model that can be read: {problem}. Fetch it again, or name another.',
  },
  LLMGW_ENGINE_UNKNOWN: {
    status: 404,
    retry: 'no',
    type: 'invalid_request_error',
    openai: null,
    template: 'There is no engine "{engine}"; there are {known}.',
  },
  LLMGW_INSTALL_FAILED: {
    status: 500,
    retry: 'after',
    type: 'server_error',
    openai: null,
    template: 'The engine {engine} cannot be had on this machine. {tried}',
  },
  LLMGW_ENGINE_WRONG_CPU: {
    status: 500,
    retry: 'no',
    type: 'server_error',
    openai: null,
    template:
      'The build {engine} was made for another CPU: it died with an illegal instruction (signal 4) at its first load. It is not used again here; put one for this CPU on PATH.',
  },
} as const satisfies Record<string, Entry>

export type Code = keyof typeof catalogue
export type Details = Readonly<Record<string, string | number | boolean | null>>

/** An error of the catalogue as data: what travels in replies and states. */
export type Failure = { code: Code; message: string; details: Details }

/** The text of a code with its placeholders filled; a detail that is missing reads "?". */
function textOf(code: Code, details: Details): string {
  return catalogue[code].template.replace(/\{(\w+)\}/g, (_, name: string) =>
    String(details[name] ?? '?'),
  )
}

/** An expected refusal as a value. */
export const failure = (code: Code, details: Details = {}): Failure => ({
  code,
  message: textOf(code, details),
  details,
})

/** The one error class, thrown only where the world is touched. */
export class LlmgwError extends Error {
  readonly code: Code
  readonly details: Details

  constructor(code: Code, details: Details = {}, options?: { cause?: unknown }) {
    super(textOf(code, details), options)
    this.name = 'LlmgwError'
    this.code = code
    this.details = details
  }
}

/** Any thrown value as data: errors of the catalogue keep their code, others become `fallback` with their text as `problem`. */
export function toFailure(thrown: unknown, fallback: Code, details: Details = {}): Failure {
  if (thrown instanceof LlmgwError) {
    return { code: thrown.code, message: thrown.message, details: thrown.details }
  }
  return failure(fallback, { ...details, problem: messageOf(thrown) })
}

/** The text of any thrown value. */
export const messageOf = (thrown: unknown): string =>
  thrown instanceof Error ? thrown.message : String(thrown)
