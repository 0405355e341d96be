import './protocol.ts'
import './plan.ts'
import '../two/protocol.ts'
import '../../engines/good.ts'
import 'jsonc-parser'
import '../two/state.ts' // state
import './io/disk.ts' // state
import '../../kernel/clock.ts' // state
import '../../transport/bridge.ts' // state
import 'node:fs' // node-modules
import 'undici' // package-undici
import 'execa' // package-execa
import 'yauzl' // package-yauzl
import '@huggingface/gguf' // package-@huggingface/gguf
import type {} from '@nats-io/kv' // package-nats-types
import 'semver' // package-unlisted
