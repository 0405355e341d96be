import 'commander'
import '../actors/two/actor.ts'
import '../actors/one/io/disk.ts'
import '../tools/tool.mjs' // bin
import '../test/some.test.ts' // bin
