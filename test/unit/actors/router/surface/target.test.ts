// What a method and path ask for.
import t from 'tap'
import { aim } from '../../../../../actors/router/surface/target.ts'

t.test('paths are found with /v1 missing, doubled, or ended by a slash (RT1)', async (t) => {
  const chat = { ok: true, target: { to: 'chat' } }
  for (const path of [
    '/v1/chat/completions',
    '/chat/completions',
    '/v1/v1/chat/completions',
    '/v1//chat/completions/',
    '//v1/chat/completions',
  ]) {
    t.match(aim('POST', path), chat, path)
  }
  t.match(aim('GET', '/v1/models'), { target: { to: 'models' } })
  t.match(aim('GET', '/healthz'), { target: { to: 'health' } })
  t.match(aim('GET', '/readyz'), { target: { to: 'ready' } })
  t.match(aim('GET', '/metrics'), { target: { to: 'metrics' } })
})

t.test('names of models are taken raw and percent-encoded', async (t) => {
  for (const path of ['/v1/models/org/name:7b', '/v1/models/org%2Fname%3A7b']) {
    t.match(aim('GET', path), { target: { to: 'model', model: 'org/name:7b' } })
  }
})

t.test(
  'what is not there is 404, what is there and asked wrongly 405 with what it takes',
  async (t) => {
    for (const path of ['/', '/v1', '/v1/nothing', '/v1/models/%E0%A4%A', '/v1/chat']) {
      t.match(aim('GET', path), { ok: false, error: { code: 'LLMGW_PATH_NOT_FOUND' }, allow: null })
    }
    const error = { code: 'LLMGW_METHOD_NOT_ALLOWED' }
    t.match(aim('GET', '/v1/chat/completions'), { ok: false, error, allow: 'POST' })
    t.match(aim('POST', '/v1/models/x'), { ok: false, error, allow: 'GET' })
    t.match(aim('HEAD', '/healthz'), { ok: true, target: { to: 'health' } })
    t.match(aim('HEAD', '/v1/chat/completions'), { ok: false, error, allow: 'POST' })
  },
)
