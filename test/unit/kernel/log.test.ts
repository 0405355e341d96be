// The log: one JSON object a line, and no secret in it by name, shape or value.
import t from 'tap'
import { createLogger } from '../../../kernel/log.ts'

function logged(write: (log: ReturnType<typeof createLogger>) => void, secrets: string[] = []) {
  const lines: string[] = []
  const destination = { write: (line: string) => void lines.push(line) }
  write(createLogger({ name: 'llmgw-test', secrets, destination }))
  return lines.map((line) => JSON.parse(line))
}

t.test('a line names its program, level, time and actor', async (t) => {
  const lines = logged((log) => log.child({ actor: 'node' }).warn({ freeMiB: 5 }, 'little memory'))
  t.match(lines, [
    { program: 'llmgw-test', level: 'warn', actor: 'node', freeMiB: 5, msg: 'little memory' },
  ])
  t.match(lines[0].time, /^\d{4}-\d\d-\d\dT/)
})

t.test('secrets are taken out by name, up to two levels deep', async (t) => {
  const [line] = logged((log) =>
    log.info({ token: 'a', spec: { apiKey: 'b', headers: { authorization: 'c' } }, key: 'a/b' }),
  )
  t.match(
    logged((log) => log.info({ token: 7 })),
    [{ token: 7 }],
    'a leadership’s',
  )
  t.match(line, {
    token: '[redacted]',
    spec: { apiKey: '[redacted]', headers: { authorization: '[redacted]' } },
    key: 'a/b',
  })
})

t.test('secrets are taken out by shape and by value, in messages and errors too', async (t) => {
  const lines = logged(
    (log) => {
      log.info('client sent sk-llmgw-abcDEF_0123456789 here')
      log.info({ header: 'Bearer abcdefgh12345678' })
      log.error({ err: new Error('hf_abcdefghijklmnopqrstuv is refused') })
      log.info({
        deep: [{ of: { it: 'SUAMLK2ZNL35WSMW37E7UD4VZ7ELPKW7DHC3BWBSD2GCZ7IUQQXZIORRBU' } }],
      })
      log.info('eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.SflKxwRJSMeKKF2Q and "quo\\ted-secret"')
    },
    ['"quo\\ted-secret"'],
  )
  const all = JSON.stringify(lines)
  t.notMatch(all, /sk-llmgw|abcdefgh1|hf_abc|SUAMLK|eyJ|ted-secret/)
  t.equal(lines[0].msg, 'client sent [redacted] here')
  t.equal(lines[4].msg, '[redacted] and [redacted]')
})

t.test('the level can be changed while running', async (t) => {
  const lines = logged((log) => {
    log.debug('unheard')
    log.level = 'debug'
    log.debug('heard')
  })
  t.match(lines, [{ msg: 'heard' }])
  t.equal(lines.length, 1)
})
