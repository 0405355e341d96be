import 'nact'
import 'semver'
import '../kernel/clock.ts'
import '../actors/one/io/disk.ts'
