// Which of the endpoint's services a method and path ask for.
import { type Failure, failure } from '../../../kernel/errors.ts'

export type Target =
  | { to: 'chat' }
  | { to: 'models' }
  | { to: 'model'; model: string }
  | { to: 'health' }
  | { to: 'ready' }
  | { to: 'metrics' }

export type Aim = { ok: true; target: Target } | { ok: false; error: Failure; allow: string | null }

/** HEAD is taken where GET is. A missing, doubled or slash-ended `/v1` is taken as meant; the names of models may hold slashes, raw or percent-encoded. */
export function aim(method: string, path: string): Aim {
  const name = path
    .replace(/^\/+/, '')
    .replace(/^(?:v1\/+)+/, '')
    .replace(/\/+$/, '')
  const [target, allow] = find(name)
  if (target === null) {
    return { ok: false, error: failure('LLMGW_PATH_NOT_FOUND', { method, path }), allow: null }
  }
  if (method !== allow && !(method === 'HEAD' && allow === 'GET')) {
    const error = failure('LLMGW_METHOD_NOT_ALLOWED', { method, path, allowed: allow })
    return { ok: false, error, allow }
  }
  return { ok: true, target }
}

function find(name: string): [Target | null, allow: string] {
  switch (name) {
    case 'chat/completions':
      return [{ to: 'chat' }, 'POST']
    case 'models':
      return [{ to: 'models' }, 'GET']
    case 'healthz':
      return [{ to: 'health' }, 'GET']
    case 'readyz':
      return [{ to: 'ready' }, 'GET']
    case 'metrics':
      return [{ to: 'metrics' }, 'GET']
    default: {
      const model = name.startsWith('models/') ? decode(name.slice('models/'.length)) : null
      return [model === null ? null : { to: 'model', model }, 'GET']
    }
  }
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null // no name of ours: the path is not found
  }
}
