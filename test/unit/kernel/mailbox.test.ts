// The mailbox: its bound, what happens at it, and the room for the actor's own facts.
import t from 'tap'
import { Mailbox } from '../../../kernel/mailbox.ts'

const drain = (mailbox: Mailbox) => {
  const out: unknown[] = []
  for (let letter = mailbox.shift(); letter; letter = mailbox.shift()) out.push(letter.message)
  return out
}

t.test('a full one refuses, in order and without losing what it has', async (t) => {
  const mailbox = new Mailbox(2, 'refuse')
  t.same(
    [1, 2, 3].map((message) => mailbox.push(message)),
    ['taken', 'taken', 'full'],
  )
  t.same(mailbox.shift(), { message: 1, own: false })
  t.equal(mailbox.push(4), 'taken')
  t.same(drain(mailbox), [2, 4])
})

t.test('a full one that drops gives away the oldest from outside, never a fact', async (t) => {
  const mailbox = new Mailbox(2, 'drop-oldest')
  mailbox.force('due')
  mailbox.push(1)
  mailbox.pushOwn('fact')
  mailbox.push(2)
  t.same(mailbox.push(3), { dropped: 1 })
  t.same(mailbox.push(4), { dropped: 2 })
  t.same(drain(mailbox), ['due', 'fact', 3, 4])
})

t.test('a flood from outside leaves room for own facts, which are bounded too', async (t) => {
  const mailbox = new Mailbox(2, 'refuse')
  for (const message of [1, 2]) mailbox.push(message)
  t.same([mailbox.pushOwn('a'), mailbox.pushOwn('b'), mailbox.pushOwn('c')], [true, true, false])
  mailbox.force('due')
  t.equal(mailbox.length, 5)
})

t.test(
  'what is the actor’s own can be forgotten, the rest keeps its order and its bound',
  async (t) => {
    const mailbox = new Mailbox(3, 'refuse')
    mailbox.push(1)
    mailbox.pushOwn('fact')
    mailbox.push(2)
    mailbox.force('due')
    mailbox.forgetOwn()
    t.same([mailbox.push(3), mailbox.push(4)], ['taken', 'full'])
    t.same(drain(mailbox), [1, 2, 3])
  },
)
