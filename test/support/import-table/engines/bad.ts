import './good.ts'
import '../kernel/clock.ts' // engines
import '../actors/two/state.ts' // engines
import 'node:fs' // node-modules
