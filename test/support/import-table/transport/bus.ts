import '@nats-io/transport-node'
import 'msgpackr' // package-msgpackr
