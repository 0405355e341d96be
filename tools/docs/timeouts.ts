// The page of waits and deadlines, made from the constants whose names end in Ms and the comments beside them.
import { readFileSync } from 'node:fs'
import ts from 'typescript'

/** A constant that ends or paces a wait; `reason` is empty where no comment gives one. */
export type Wait = { name: string; path: string; value: string; reason: string }

/**
 * The waits of one source: constants, fields of constants at the top of the file, and defaults of
 * settings, whose names end in `Ms` and whose values are numbers or a formula.
 */
export function waitsIn(path: string): Wait[] {
  const source = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.ES2023, true)
  const waits: Wait[] = []
  const visit = (node: ts.Node, top: boolean): void => {
    if (isConstant(node) && isWait(node, top)) {
      const holder = ts.isVariableDeclaration(node) ? node.parent.parent : node
      waits.push({
        name: node.name.getText(),
        path,
        value: shown(node.initializer),
        reason: commentOf(holder, source.text) || commentOf(listOf(node), source.text),
      })
    }
    const inside = top && !ts.isFunctionLike(node)
    ts.forEachChild(node, (child) => visit(child, inside))
  }
  visit(source, true)
  return waits
}

type Constant = (ts.VariableDeclaration | ts.PropertyAssignment) & { initializer: ts.Expression }

const isConstant = (node: ts.Node): node is Constant =>
  (ts.isVariableDeclaration(node) && node.initializer !== undefined && isConst(node)) ||
  ts.isPropertyAssignment(node)

const isConst = (node: ts.VariableDeclaration) => (node.parent.flags & ts.NodeFlags.Const) !== 0

function isWait(node: Constant, top: boolean): boolean {
  if (!/(Ms|[dD]eadline)$/.test(node.name.getText())) return false
  if (product(node.initializer) !== undefined) return top || ts.isVariableDeclaration(node)
  const isFormula = ts.isBinaryExpression(formula(node.initializer))
  return (
    top && isFormula && (ts.isVariableDeclaration(node) || /WithinMs$/.test(node.name.getText()))
  )
}

/** What a deadline that is made from something is made by; else the expression itself. */
const formula = (node: ts.Expression): ts.Node =>
  ts.isArrowFunction(node) && ts.isPropertyAssignment(node.parent) ? node.body : node

/** The default of a setting in a schema: `ms.default(2000)`. */
function defaultIn(node: ts.Expression): ts.Expression | undefined {
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression))
    return undefined
  return node.expression.name.text === 'default' ? node.arguments[0] : undefined
}

/** The number that a literal or a product of literals makes, also as the default of a setting. */
function product(node: ts.Expression): number | undefined {
  const text = (defaultIn(node) ?? node).getText()
  if (!/^[\d_]+( \* [\d_]+)*$/.test(text)) return undefined
  return text.split(' * ').reduce((all, factor) => all * Number(factor.replaceAll('_', '')), 1)
}

const shown = (node: ts.Expression) =>
  `${product(node) ?? `\`${formula(node).getText()}\``}${defaultIn(node) ? ', a setting' : ''}`

/** What holds the list or object in which a field stands: one comment may speak for all of it. */
const listOf = (field: ts.Node) =>
  ts.isPropertyAssignment(field)
    ? ts.findAncestor(
        field.parent,
        (node) => ts.isPropertyAssignment(node) || ts.isVariableStatement(node),
      )
    : undefined

/** The text of the comment before or behind a node, as one line. */
function commentOf(node: ts.Node | undefined, text: string): string {
  if (node === undefined) return ''
  const ranges = [
    ...(ts.getLeadingCommentRanges(text, node.getFullStart()) ?? []).slice(-1),
    ...trailing(node, text),
  ]
  return ranges
    .map(({ pos, end }) => text.slice(pos, end))
    .join(' ')
    .replace(/^\s*(\/\*\*?|\*\/|\*|\/\/)|\*\/$/gm, '')
    .replace(/\s+/g, ' ')
    .trim()
}

/** Behind a field stands its comma first. */
function trailing(node: ts.Node, text: string): ts.CommentRange[] {
  const comma = text[node.getEnd()] === ',' ? 1 : 0
  return ts.getTrailingCommentRanges(text, node.getEnd() + comma) ?? []
}

/** `docs/timeouts.md`: every wait of the sources in the order of their paths. */
export function timeoutsPage(paths: readonly string[]): string {
  const rows = paths
    .flatMap(waitsIn)
    .map(
      ({ name, path, value, reason }) =>
        `| \`${name}\` | ${path} | ${value} | ${reason.replaceAll('|', '\\|')} |`,
    )
  return `<!-- Made by \`npm run docs\` from the sources and held against them by test/docs. -->

# Waits and deadlines

Every wait of llmgw ends, and each constant below ends or paces one. The reason is the comment that
stands beside it. Values are milliseconds; what is made from others is shown as the source has it.
A setting is one of the program in that file; the value is its default.

| constant | file | ms | reason |
| --- | --- | --- | --- |
${rows.join('\n')}
`
}
