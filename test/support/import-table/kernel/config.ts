import 'yaml'
import 'zod'
import './nowhere.ts' // not-resolvable
