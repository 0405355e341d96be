import 'pino'
import 'prom-client' // package-prom-client
