// A disk too small at each stage of the first start: a clear refusal, nothing half-installed, and a whole start once there is room.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { command, freePort, seed } from '../support/instance.ts'

const skip = canMount() ? false : 'a small disk cannot be mounted here; root may'

function canMount(): boolean {
  try {
    // in a mount namespace of its own, where nothing is left
    execFileSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'tmpfs', tmpdir()], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

t.test(
  'a full disk is named at each stage, and more room is all that is needed',
  { skip },
  async (t) => {
    const dir = mkdtempSync(join(tmpdir(), 'llmgw-full-'))
    const resize = (size: string, ...more: string[]) =>
      execFileSync('mount', [
        '-t',
        'tmpfs',
        '-o',
        [...more, `size=${size}`].join(),
        'llmgw-test',
        dir,
      ])
    resize('64k')
    t.teardown(async () => {
      await command('--dir', dir, 'down')
      execFileSync('umount', ['--lazy', dir])
      rmSync(dir, { recursive: true })
    })
    /** What an earlier test fetched; where there is nothing, the start fetches it. */
    const seedWith = (...folders: string[]): void => {
      if (!existsSync(seed)) return
      execFileSync('cp', ['-a', ...folders.map((it) => join(seed, it)), dir])
    }
    const port = String(await freePort())
    const up = () => command('--dir', dir, 'up', '-d', '--json', '--port', port)

    await t.test('no room for nats-server', async (t) => {
      const { code, stderr } = await up()
      t.equal(code, 1)
      t.match(stderr, /No room on the disk of .*: \d+ more bytes are needed, \d+ are free.*--dir/)
      t.same(readdirSync(join(dir, 'artifacts/nats-server/2.15.1')), [])
    })
    await t.test('no room for keys and settings', async (t) => {
      resize('40m', 'remount')
      seedWith('artifacts')
      const { bavail, bsize } = statfsSync(dir)
      execFileSync('fallocate', ['-l', String(bavail * bsize), join(dir, 'ballast')])
      const { code, stderr } = await up()
      t.equal(code, 1)
      t.match(stderr, /No room on the disk/)
      rmSync(join(dir, 'ballast'))
    })
    await t.test('no room for engine and model', async (t) => {
      resize('110m', 'remount')
      const { code, stderr } = await up()
      t.equal(code, 1)
      t.match(stderr, /cannot be served.* MiB of disk free of .* that are needed/)
      t.notOk(existsSync(join(dir, 'engines', 'llamacpp')))
    })
    await t.test('once there is room the same command answers', async (t) => {
      resize('2g', 'remount')
      seedWith('engines', 'models')
      const { code, stdout, stderr } = await up()
      t.equal(code, 0, stderr)
      t.match(JSON.parse(stdout), { model: 'smollm2-135m' })
    })
  },
)
