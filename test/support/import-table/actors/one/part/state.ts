import '../plan.ts'
import '../../two/actor.ts' // state
import './actor.ts' // state
