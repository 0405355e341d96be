import '../transport/contract/names.ts'
import '../kernel/step.ts' // console
import 'node:fs' // node-modules
import type {} from 'nact' // package-nact, package-none
