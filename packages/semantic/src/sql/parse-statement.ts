/** PostgreSQL's SELECT nodes → statements of ours: WITH, set operations, FROM, and the clauses, by an allow-list of fields. */
import type { Alias, JoinExpr, Node, RangeVar, SelectStmt, WindowDef } from 'libpg-query';
import type { NamedExpression, SelectItem, SortItem } from '../query/semantic-query.ts';
import {
  type CommonTable,
  columnsMax,
  type FromItem,
  type SelectBody,
  type SetBody,
  type SetOperator,
  type Statement,
} from '../query/statement.ts';
import { SemanticError } from '../semantic-error.ts';
import { readSort } from './parse-call.ts';
import { parseExpression, type Reader } from './parse-expression.ts';
import { asNode, identifier, only, refuse } from './refusal.ts';
import { selectsMax, tablesMax } from './sql-size.ts';

/** Reads a statement; it counts the SELECTs in it. @throws SemanticError SQL_NOT_SUPPORTED or SQL_TOO_LARGE */
export function parseStatement(select: SelectStmt): Statement {
  let selects = 0;
  const read = (it: SelectStmt, location: number): Statement => {
    const common = (it.withClause?.ctes ?? []).map((cte) => readCommonTable(cte, read));
    if (it.withClause?.recursive === true) refuse('WITH RECURSIVE', it.withClause.location ?? 0);
    const { withClause: _, ...body } = it;
    if (body.op !== undefined && body.op !== 'SETOP_NONE') return { with: common, body: readSet(body, read, location) };
    selects += 1;
    if (selects > selectsMax) {
      throw new SemanticError('SQL_TOO_LARGE', `The SQL has more than ${selectsMax} SELECTs.`, '', location);
    }
    return { with: common, body: readSelect(body, read) };
  };
  return read(select, 0);
}

type Read = (select: SelectStmt, location: number) => Statement;

function readCommonTable(node: Node, read: Read): CommonTable {
  if (!('CommonTableExpr' in node)) return refuse(Object.keys(node)[0] ?? 'this', 0);
  const table = node.CommonTableExpr;
  const { location = 0, ctename = '' } = table;
  // MATERIALIZED changes how a query runs, never what it gives.
  only(table, 'WITH', ['ctename', 'aliascolnames', 'ctematerialized', 'ctequery', 'location'], location);
  const query = asNode(table.ctequery);
  if (!('SelectStmt' in query)) {
    return refuse(`${Object.keys(query)[0]?.replace(/Stmt$/, '')} in WITH`, location, 'Only SELECT reads data.');
  }
  const columns = (table.aliascolnames ?? []).map(identifier);
  return { name: ctename, columns, statement: read(query.SelectStmt, location), location };
}

/** A reader for expressions that are written over the columns of an answer, where no query may stand. */
const columnReader: Reader = {
  statement: (_select, location) => refuse('a subquery in ORDER BY of a set operation', location),
  windows: new Map(),
};

function readSet(select: SelectStmt, read: Read, location: number): SetBody {
  const { op, all = false, larg, rarg } = select;
  only(select, 'a set operation', [
    'op',
    'all',
    'larg',
    'rarg',
    'sortClause',
    'limitOffset',
    'limitCount',
    'limitOption',
  ]);
  if (larg === undefined || rarg === undefined) return refuse('this set operation', location);
  if (all && op !== 'SETOP_UNION') refuse(`${op?.slice(6)} ALL`, location);
  const operator: SetOperator =
    op === 'SETOP_UNION' ? (all ? 'union-all' : 'union') : op === 'SETOP_INTERSECT' ? 'intersect' : 'except';
  const left = read(larg, location);
  // A chain of one operator is one node: `a UNION b UNION c` is read from the left anyway.
  const isChain =
    left.body.kind === 'set' &&
    left.body.operator === operator &&
    left.with.length === 0 &&
    left.body.orderBy.length === 0 &&
    left.body.limit === null &&
    left.body.offset === null;
  const before = isChain && left.body.kind === 'set' ? left.body.branches : [left];
  return {
    kind: 'set',
    operator,
    branches: [...before, read(rarg, location)],
    ...readEnd(select, (it) => parseExpression(asNode(it), columnReader)),
    location,
  };
}

function readSelect(select: SelectStmt, read: Read): SelectBody {
  if (select.valuesLists !== undefined) refuse('VALUES', 0);
  if (select.intoClause !== undefined) refuse('SELECT INTO', 0);
  if (select.lockingClause !== undefined) refuse('FOR UPDATE', 0);
  if (select.groupDistinct === true) refuse('GROUP BY DISTINCT', 0);
  only(select, 'SELECT', [
    'distinctClause',
    'targetList',
    'fromClause',
    'whereClause',
    'groupClause',
    'havingClause',
    'windowClause',
    'sortClause',
    'limitOffset',
    'limitCount',
    'limitOption',
    'op',
  ]);
  const windows = new Map<string, WindowDef>();
  for (const node of select.windowClause ?? []) {
    if (!('WindowDef' in node)) return refuse(Object.keys(node)[0] ?? 'this', 0);
    windows.set(node.WindowDef.name ?? '', node.WindowDef);
  }
  const reader: Reader = { statement: read, windows };
  const parse = (it: Node | undefined) => parseExpression(asNode(it), reader);
  requireFew('GROUP BY', select.groupClause, columnsMax);
  requireFew('FROM', select.fromClause, tablesMax);
  const [first, ...others] = (select.fromClause ?? []).map((it) => readFrom(it, read, parse));
  if (first === undefined) {
    throw new SemanticError('SQL_NOT_SUPPORTED', 'The query has no FROM.', 'Select FROM a view.');
  }
  return {
    kind: 'select',
    select: readTargets(select.targetList ?? [], parse),
    isDistinct: readDistinct(select.distinctClause),
    from: [first, ...others],
    where: select.whereClause === undefined ? null : parse(select.whereClause),
    groupBy: (select.groupClause ?? []).map(parse),
    having: select.havingClause === undefined ? null : parse(select.havingClause),
    ...readEnd(select, parse),
  };
}

function requireFew(clause: string, list: readonly Node[] | undefined, max: number): void {
  if (list === undefined || list.length <= max) return;
  const what = clause === 'FROM' ? 'tables' : 'columns';
  throw new SemanticError('SQL_TOO_LARGE', `${clause} has more than ${max} ${what}.`);
}

/** What stands behind a SELECT and behind a set operation alike. */
function readEnd(
  select: SelectStmt,
  parse: (node: Node | undefined) => NamedExpression,
): { readonly orderBy: readonly SortItem[]; readonly limit: number | null; readonly offset: number | null } {
  if (select.limitOption === 'LIMIT_OPTION_WITH_TIES') refuse('FETCH … WITH TIES', 0);
  requireFew('ORDER BY', select.sortClause, columnsMax);
  return {
    orderBy: (select.sortClause ?? []).map((it) => readSort(it, parse)),
    limit: readCount(select.limitCount, 'LIMIT'),
    offset: readCount(select.limitOffset, 'OFFSET'),
  };
}

function readFrom(node: Node, read: Read, parse: (node: Node | undefined) => NamedExpression): FromItem {
  if ('RangeVar' in node) return readTable(node.RangeVar);
  if ('JoinExpr' in node) return readJoin(node.JoinExpr, read, parse);
  if ('RangeSubselect' in node) {
    const { lateral, subquery, alias } = node.RangeSubselect;
    if (lateral === true) refuse('LATERAL', 0, 'A subquery cannot read from outside.');
    const query = asNode(subquery);
    if (!('SelectStmt' in query)) return refuse('this subquery', 0);
    return { kind: 'derived', statement: read(query.SelectStmt, 0), ...readAlias(alias), location: 0 };
  }
  if ('RangeFunction' in node) refuse('a function in FROM', 0);
  if ('RangeTableSample' in node) refuse('TABLESAMPLE', 0);
  return refuse(`${Object.keys(node)[0]} in FROM`, 0);
}

function readAlias(alias: Alias | undefined): { readonly alias: string | null; readonly columns: readonly string[] } {
  if (alias === undefined) return { alias: null, columns: [] };
  only(alias, 'an alias', ['aliasname', 'colnames']);
  return { alias: alias.aliasname ?? null, columns: (alias.colnames ?? []).map(identifier) };
}

function readTable(table: RangeVar): FromItem {
  const { location = 0 } = table;
  if (table.schemaname !== undefined || table.catalogname !== undefined) {
    refuse('a schema name', location, 'Name the view alone.');
  }
  if (table.inh !== true) refuse('ONLY', location);
  only(table, 'a table', ['relname', 'inh', 'relpersistence', 'alias', 'location'], location);
  return { kind: 'table', name: table.relname ?? '', ...readAlias(table.alias), location };
}

const joinTypes = { JOIN_INNER: 'inner', JOIN_LEFT: 'left', JOIN_RIGHT: 'right', JOIN_FULL: 'full' } as const;
const isJoinType = (type: string): type is keyof typeof joinTypes => Object.hasOwn(joinTypes, type);

function readJoin(join: JoinExpr, read: Read, parse: (node: Node | undefined) => NamedExpression): FromItem {
  if (join.isNatural === true) refuse('NATURAL JOIN', 0, 'Write JOIN … ON.');
  if (join.usingClause !== undefined) refuse('USING', 0, 'Write JOIN … ON.');
  only(join, 'JOIN', ['jointype', 'larg', 'rarg', 'quals', 'rtindex']);
  const type = join.jointype ?? 'JOIN_INNER';
  if (!isJoinType(type)) return refuse('this JOIN', 0);
  const on = join.quals === undefined ? null : parse(join.quals);
  return {
    kind: 'join',
    type: on === null ? 'cross' : joinTypes[type],
    left: readFrom(asNode(join.larg), read, parse),
    right: readFrom(asNode(join.rarg), read, parse),
    on,
    location: on?.location ?? 0,
  };
}

function readTargets(targets: readonly Node[], parse: (node: Node | undefined) => NamedExpression): SelectItem[] {
  requireFew('SELECT', targets, columnsMax);
  if (targets.length === 0) throw new SemanticError('SQL_NOT_SUPPORTED', 'The query selects no column.');
  return targets.map((node): SelectItem => {
    if (!('ResTarget' in node)) return refuse(Object.keys(node)[0] ?? 'this', 0);
    const { name, val, location = 0 } = node.ResTarget;
    only(node.ResTarget, 'a selected column', ['name', 'val', 'location'], location);
    const value = asNode(val);
    const fields = 'ColumnRef' in value ? (value.ColumnRef.fields ?? []) : [];
    if (!fields.some((field) => 'A_Star' in field)) {
      return { kind: 'expression', expression: parse(value), alias: name ?? null };
    }
    const qualifiers = fields.slice(0, -1).map(identifier);
    if (qualifiers.length > 1 || name !== undefined) refuse('* like this', location);
    return { kind: 'star', qualifier: qualifiers[0] ?? null, location };
  });
}

/** DISTINCT comes as a list with one empty node, DISTINCT ON as a list of expressions. */
function readDistinct(clause: readonly Node[] | undefined): boolean {
  if (clause === undefined) return false;
  if (clause.some((node) => node !== null && Object.keys(node).length > 0)) refuse('DISTINCT ON', 0);
  return true;
}

function readCount(node: Node | undefined, clause: string): number | null {
  if (node === undefined) return null;
  const value = 'A_Const' in node ? node.A_Const : undefined;
  if (value?.isnull === true) return null;
  const count = value?.ival === undefined ? undefined : (value.ival.ival ?? 0);
  if (count === undefined || count < 0) return refuse(`${clause} other than a whole number`, value?.location ?? 0);
  return count;
}
