import type {} from '../../engines/good.ts'
import '../../engines/good.ts' // actor-engine-types
import './plan.ts'
import '../two/protocol.ts'
import '../../kernel/clock.ts'
import '../../transport/bridge.ts'
import './io/disk.ts' // actor
import '../two/actor.ts' // actor
import '../two/state.ts' // actor
import '../../transport/wire.ts' // actor
import 'node:fs' // node-modules
import 'jsonc-parser' // package-jsonc-parser
import 'eventsource-parser' // package-eventsource-parser
import type {} from 'zod' // package-zod
