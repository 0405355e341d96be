import '../actor.ts' // io-actor-types
import '../../two/io/disk.ts' // io
import '../../two/state.ts' // io
import 'commander' // package-commander
import 'cli-table3' // package-cli-table3
