// Runs a command with Node 22 first on PATH; the release is fetched once, from npm, into .cache/node22.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { delimiter, resolve } from 'node:path'

const version = '22.23.5'
const name = `node-linux-${process.arch}`
const home = resolve('.cache', `node-${version}`)
const bin = resolve(home, 'node_modules', name, 'bin')
if (!existsSync(resolve(bin, 'node'))) {
  mkdirSync(home, { recursive: true })
  execFileSync('npm', ['install', '--no-save', '--prefix', home, `${name}@${version}`], {
    stdio: 'inherit',
  })
}
const [command, ...args] = process.argv.slice(2)
const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` }
process.exitCode = spawnSync(command, args, { env, stdio: 'inherit' }).status ?? 1
