import 'msgpackr'
import 'node:fs'
import type {} from 'zod'
import type {} from '@nats-io/transport-node'
import '../kernel/clock.ts'
import './contract/names.ts'
import '../engines/good.ts' // transport
import 'zod'
import '@nats-io/transport-node' // package-@nats-io/transport-node
import '@nats-io/jetstream' // package-@nats-io/jetstream
import '@nats-io/kv' // package-@nats-io/kv
import '@nats-io/nkeys' // package-@nats-io/nkeys
import '@nats-io/jwt' // package-@nats-io/jwt
import 'uWebSockets.js' // package-uWebSockets.js
