import 'nact'
import 'node:fs'
import './step.ts'
import '../transport/wire.ts' // kernel
import 'pino' // package-pino
import 'denque' // package-denque
import 'zod' // package-zod
