import './step.ts'
import '../transport/contract/names.ts' // pure-kernel
import 'node:fs' // node-modules
import type {} from 'zod' // package-zod, package-none
