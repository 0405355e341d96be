import 'zod'
import '../../kernel/step.ts'
import '../../transport/contract/names.ts'
import '../two/protocol.ts'
import './plan.ts' // protocol
import 'node:fs' // node-modules
