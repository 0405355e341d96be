import 'prom-client'
import 'nact' // package-nact
import 'yaml' // package-yaml
