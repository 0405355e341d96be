import '../table/plan.ts'
import '../../guard/plan.ts'
import '../../../kernel/clock.ts'
import '../../../transport/contract/names.ts'
import '../table/actor.ts' // request
import '../io/forward.ts' // request
import '../../two/state.ts' // request
import '../../../transport/wire.ts' // request
import '../../../engines/good.ts' // request
import 'node:fs' // node-modules
