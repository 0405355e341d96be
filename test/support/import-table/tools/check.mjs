import 'node:fs'
import 'semver'
import '../kernel/clock.ts'
import '../test/some.test.ts' // tools
