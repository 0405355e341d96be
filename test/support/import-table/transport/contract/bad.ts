import 'zod'
import './names.ts'
import '../../kernel/step.ts'
import '../../kernel/clock.ts' // contract
import '../wire.ts' // contract
import 'node:fs' // node-modules
