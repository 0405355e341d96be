// Run records of every version that ever wrote one, as they stood on disk.
import t from 'tap'
import { recordSchema } from '../../../../actors/process/record.ts'

/** As it was before processes could have users of their own. */
const withoutUser = `{
  "version": 1,
  "spec": {
    "name": "smol-1",
    "argv": ["/engines/llamacpp/bin/python", "-I", "launcher.py"],
    "env": { "PATH": "/usr/bin:/bin", "LLAMA_API_KEY": "k" },
    "cwd": "/run/shards/smol-1/home",
    "stop": [{ "signal": "SIGTERM", "afterMs": 0, "to": "group" }]
  },
  "token": "0123456789abcdef0123456789abcdef",
  "bootId": "f8250979-018f-4775-bde3-bd05899c480f",
  "startedAt": 1796135811070,
  "process": { "pid": 27314, "startTicks": 618330 }
}`

t.test('EN2: a record of before processes had users is read, and has none', (t) => {
  const record = recordSchema.parse(JSON.parse(withoutUser))
  t.same(record, JSON.parse(withoutUser))
  t.notOk('user' in record.spec)
  t.end()
})

t.test('a record holds whom its process runs as', (t) => {
  const record = JSON.parse(withoutUser)
  record.spec.user = { uid: 60_600, gid: 60_600 }
  t.same(recordSchema.parse(record).spec.user, record.spec.user)
  t.end()
})
