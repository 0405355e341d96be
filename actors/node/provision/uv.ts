// The tool that makes Python environments, as an artifact: Debian's own venv needs a package that is often missing.
import type { Artifact } from '../../../transport/contract/artifact.ts'

/** One for each platform that there is a digest for. */
export const uv: readonly Artifact[] = [
  {
    name: 'uv',
    version: '0.13.8',
    platform: 'linux-x64',
    licence: 'Apache-2.0 OR MIT',
    fileName: 'uv',
    executable: true,
    sizeBytes: 37_991_656,
    sha256: '4a7607589912d9c20e86b860b032f7c7f2913c9a3e76f46aef136885387452b8',
    sources: [
      {
        kind: 'index',
        package: 'uv',
        version: '0.13.8',
        sha256: ['e18a57b8b352eb7c8feb317b9f6f533c8f0ad9673fd6cf34bbe3cf1a9f6a8984'],
        sizeBytes: 17_389_450,
        member: 'uv-0.13.8.data/scripts/uv',
      },
    ],
  },
]
