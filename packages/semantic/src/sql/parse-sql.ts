/**
 * Semantic SQL text → SemanticQuery. The text is parsed by PostgreSQL's own grammar; what comes out is read by an
 * allow-list of node kinds and of the fields of each node, so that a construct nobody thought of is refused, not ignored.
 */
import { loadModule, type Node, parseSync, type SelectStmt, type SortBy } from 'libpg-query';
import type { SelectItem, SemanticQuery, SortItem } from '../query/semantic-query.ts';
import { SemanticError } from '../semantic-error.ts';
import { asNode, identifier, only, parseExpression, refuse } from './parse-expression.ts';
import { columnsMax, guardSqlSize, guardTreeDepth, type SqlLimits } from './sql-size.ts';

// The grammar is a WebAssembly module; it takes some milliseconds to load, once per process.
await loadModule();

/** Parses one SELECT. @throws SemanticError SQL_INVALID, SQL_TOO_LARGE, SQL_TOO_DEEP or SQL_NOT_SUPPORTED. */
export function parseSql(sql: string, limits?: SqlLimits): SemanticQuery {
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
  return readSelect(node.SelectStmt);
}

function parseStatements(sql: string): (Node | undefined)[] {
  try {
    return (parseSync(sql).stmts ?? []).map(({ stmt }) => stmt);
  } catch (error) {
    const detail = error instanceof Error ? error.message : '';
    if (detail === 'Query cannot be empty') return [];
    throw new SemanticError('SQL_INVALID', `The SQL does not parse: ${detail.slice(0, 300)}.`);
  }
}

function readSelect(select: SelectStmt): SemanticQuery {
  if (select.withClause !== undefined) refuse('WITH', 0);
  if (select.op !== undefined && select.op !== 'SETOP_NONE') refuse('UNION, INTERSECT or EXCEPT', 0);
  if (select.valuesLists !== undefined) refuse('VALUES', 0);
  if (select.intoClause !== undefined) refuse('SELECT INTO', 0);
  if (select.lockingClause !== undefined) refuse('FOR UPDATE', 0);
  if (select.windowClause !== undefined) refuse('WINDOW', 0);
  if (select.groupDistinct === true) refuse('GROUP BY DISTINCT', 0);
  if (select.limitOption === 'LIMIT_OPTION_WITH_TIES') refuse('FETCH … WITH TIES', 0);
  only(select, 'SELECT', [
    'distinctClause',
    'targetList',
    'fromClause',
    'whereClause',
    'groupClause',
    'havingClause',
    'sortClause',
    'limitOffset',
    'limitCount',
    'limitOption',
    'op',
  ]);
  for (const [clause, list = []] of [
    ['SELECT', select.targetList],
    ['GROUP BY', select.groupClause],
    ['ORDER BY', select.sortClause],
  ] as const) {
    if (list.length > columnsMax) {
      throw new SemanticError('SQL_TOO_LARGE', `${clause} has more than ${columnsMax} columns.`);
    }
  }
  const relation = readFrom(select.fromClause ?? []);
  return {
    relation,
    select: readTargets(select.targetList ?? [], relation.alias ?? relation.name),
    isDistinct: readDistinct(select.distinctClause),
    where: select.whereClause === undefined ? null : parseExpression(select.whereClause),
    groupBy: (select.groupClause ?? []).map(parseExpression),
    having: select.havingClause === undefined ? null : parseExpression(select.havingClause),
    orderBy: (select.sortClause ?? []).map(readSort),
    limit: readCount(select.limitCount, 'LIMIT'),
    offset: readCount(select.limitOffset, 'OFFSET'),
  };
}

function readFrom(from: readonly Node[]): SemanticQuery['relation'] {
  const [first, second] = from;
  if (first === undefined) {
    throw new SemanticError('SQL_NOT_SUPPORTED', 'The query has no FROM.', 'Select FROM a view.');
  }
  if (second !== undefined) refuse('a list of tables in FROM', 0, 'Select from one view; views join cubes already.');
  if ('JoinExpr' in first) refuse('JOIN', 0, 'Select from one view; views join cubes already.');
  if ('RangeSubselect' in first) refuse('a subquery in FROM', 0);
  if ('RangeFunction' in first) refuse('a function in FROM', 0);
  if (!('RangeVar' in first)) return refuse(`${Object.keys(first)[0]} in FROM`, 0);
  const table = first.RangeVar;
  const location = table.location ?? 0;
  if (table.schemaname !== undefined || table.catalogname !== undefined) {
    refuse('a schema name', location, 'Name the view alone.');
  }
  if (table.inh !== true) refuse('ONLY', location);
  only(table, 'a table', ['relname', 'inh', 'relpersistence', 'alias', 'location']);
  if (table.alias !== undefined) only(table.alias, 'an alias', ['aliasname']);
  return { name: table.relname ?? '', alias: table.alias?.aliasname ?? null, location };
}

function readTargets(targets: readonly Node[], tableName: string): SemanticQuery['select'] {
  const items: SelectItem[] = [];
  for (const node of targets) {
    if (!('ResTarget' in node)) return refuse(Object.keys(node)[0] ?? 'this', 0);
    const target = node.ResTarget;
    only(target, 'a selected column', ['name', 'val', 'location']);
    const value = asNode(target.val);
    const fields = 'ColumnRef' in value ? (value.ColumnRef.fields ?? []) : [];
    if (fields.some((field) => 'A_Star' in field)) {
      if (targets.length > 1) refuse('* beside other columns', target.location ?? 0, 'Name the columns.');
      const qualifiers = fields.slice(0, -1).map(identifier);
      if (qualifiers.some((name) => name !== tableName) || qualifiers.length > 1) {
        refuse(`${qualifiers.join('.')}.* here`, target.location ?? 0, `Write * or ${tableName}.*.`);
      }
      return '*';
    }
    items.push({ expression: parseExpression(value), alias: target.name ?? null });
  }
  if (items.length === 0) throw new SemanticError('SQL_NOT_SUPPORTED', 'The query selects no column.');
  return items;
}

/** DISTINCT comes as a list with one empty node, DISTINCT ON as a list of expressions. */
function readDistinct(clause: readonly Node[] | undefined): boolean {
  if (clause === undefined) return false;
  if (clause.some((node) => node !== null && Object.keys(node).length > 0)) refuse('DISTINCT ON', 0);
  return true;
}

function readSort(node: Node): SortItem {
  if (!('SortBy' in node)) return refuse(Object.keys(node)[0] ?? 'this', 0);
  const sort: SortBy = node.SortBy;
  only(sort, 'ORDER BY', ['node', 'sortby_dir', 'sortby_nulls', 'location']);
  if (sort.sortby_dir === 'SORTBY_USING') refuse('ORDER BY … USING', 0);
  const isDescending = sort.sortby_dir === 'SORTBY_DESC';
  // PostgreSQL's default: nulls are larger than any value. It is written out, since engines differ.
  const nullsFirst =
    sort.sortby_nulls === 'SORTBY_NULLS_FIRST' || (isDescending && sort.sortby_nulls !== 'SORTBY_NULLS_LAST');
  return { expression: parseExpression(asNode(sort.node)), isDescending, nullsFirst };
}

function readCount(node: Node | undefined, clause: string): number | null {
  if (node === undefined) return null;
  const value = 'A_Const' in node ? node.A_Const : undefined;
  if (value?.isnull === true) return null;
  const count = value?.ival === undefined ? undefined : (value.ival.ival ?? 0);
  if (count === undefined || count < 0) return refuse(`${clause} other than a whole number`, value?.location ?? 0);
  return count;
}
