/**
 * Semantic SQL text → Statement. The text is parsed by PostgreSQL's own grammar; what comes out is read by an
 * allow-list of node kinds and of the fields of each node, so that a construct nobody thought of is refused, not ignored.
 */
import { loadModule, type Node, parseSync } from 'libpg-query';
import type { NamedExpression } from '../query/semantic-query.ts';
import type { Statement } from '../query/statement.ts';
import { reservedWords } from '../reserved-words.ts';
import { SemanticError } from '../semantic-error.ts';
import { parseStatement } from './parse-statement.ts';
import { asNode, placed } from './refusal.ts';
import { guardSqlSize, guardTreeDepth, type SqlLimits } from './sql-size.ts';

// The grammar is a WebAssembly module; it takes some milliseconds to load, once per process.
await loadModule();

/** Parses one statement. @throws SemanticError SQL_INVALID, SQL_TOO_LARGE, SQL_TOO_DEEP or SQL_NOT_SUPPORTED. */
export function parseSql(sql: string, limits?: SqlLimits): Statement {
  guardSqlSize(sql, limits);
  const statements = parseStatements(sql);
  guardTreeDepth(statements);
  const [statement, second] = statements;
  if (statement === undefined) throw new SemanticError('SQL_INVALID', 'The SQL is empty.', 'Write one SELECT.');
  if (second !== undefined) {
    throw new SemanticError(
      'SQL_NOT_SUPPORTED',
      `The text holds ${statements.length} statements.`,
      'Write one SELECT.',
    );
  }
  const node = asNode(statement);
  if (!('SelectStmt' in node)) {
    const kind = Object.keys(node)[0]?.replace(/Stmt$/, '') ?? 'This';
    throw new SemanticError('SQL_NOT_SUPPORTED', `${kind} statements are not allowed.`, 'Only SELECT reads data.');
  }
  return placed(sql, () => parseStatement(node.SelectStmt));
}

/**
 * Parses an expression alone, such as `a / b`.
 * @returns null for what is no such expression, or none that semantic SQL allows
 */
export function parseExpressionText(text: string): NamedExpression | null {
  try {
    const { body, ...rest } = parseSql(`SELECT ${text} FROM t`);
    const [only, second] = body.kind === 'select' && rest.with.length === 0 ? body.select : [];
    const isAlone =
      body.kind === 'select' &&
      second === undefined &&
      !body.isDistinct &&
      body.from.length === 1 &&
      body.from[0].kind === 'table' &&
      body.from[0].name === 't' &&
      body.from[0].alias === null &&
      [body.where, body.having, body.limit, body.offset].every((it) => it === null) &&
      body.groupBy.length + body.orderBy.length === 0;
    return isAlone && only?.kind === 'expression' && only.alias === null ? only.expression : null;
  } catch (error) {
    if (error instanceof SemanticError) return null;
    throw error;
  }
}

function parseStatements(sql: string): (Node | undefined)[] {
  try {
    return (parseSync(sql).stmts ?? []).map(({ stmt }) => stmt);
  } catch (error) {
    const detail = error instanceof Error ? error.message : '';
    if (detail === 'Query cannot be empty') return [];
    const word = /at or near "(\w+)"$/.exec(detail)?.[1]?.toLowerCase() ?? '';
    const hint = reservedWords.has(word) ? `If "${word}" is meant as a name, write it in quotes.` : '';
    throw new SemanticError('SQL_INVALID', `The SQL does not parse: ${detail.slice(0, 300)}.`, hint);
  }
}
