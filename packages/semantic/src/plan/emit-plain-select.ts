/** Plain SELECTs: SQL as everybody knows it over the results of others, their tables and columns under generated names. */
import type { Dialect } from '../dialects/dialect.ts';
import { isEquality } from '../query/resolve-join.ts';
import {
  conjunctsOf,
  contains,
  isWrittenOut,
  numberExpressions,
  partsOf,
  type ResolvedExpression,
  type ResolvedSort,
} from '../query/resolved-expression.ts';
import type { PlainFrom, PlainSelect, ResolvedStatement } from '../query/resolved-statement.ts';
import { memberTypeOf, typeOf } from '../query/value-type.ts';
import { SemanticError } from '../semantic-error.ts';
import type { EmitColumn } from './compile-query.ts';
import { emitEnd, emitSort } from './emit-end.ts';
import { areJoinable } from './set-numbers.ts';

/** What is the same for all plain SELECTs of a statement. */
export interface StatementScope {
  readonly dialect: Dialect;
  /** A table alias that no other has. */
  newTable(): string;
  /** The SQL of a statement as a derived table has it: columns `c0`, `c1` …. */
  inner(statement: ResolvedStatement): string;
  /** @throws SemanticError SQL_TOO_LARGE */
  guard(sql: string): string;
  /** The SQL of an expression; `leaf` gives that of parts which are known. */
  emit(expression: ResolvedExpression, leaf: (part: ResolvedExpression) => string | null): string;
}

type Emit = (expression: ResolvedExpression) => string;
/** Gives the SQL of a part that is known by itself; null for what is made of parts, and for windows. */
type Leaf = (part: ResolvedExpression) => string | null;

/** @param column writes a selected column with its name */
export function emitPlainSelect(select: PlainSelect, column: EmitColumn, scope: StatementScope): string {
  const rows = emitRows(select, scope);
  if (select.groupBy === null) return emitOutputs(select, rows.from, rows.leaf, column, scope);
  const values = oneRowTables(scope);
  const groups = emitGroups(select, select.groupBy, rows.from, rows.leaf, scope);
  const leaf: Leaf = (part) => groups.leaf(part) ?? values.leaf(part);
  const having = select.having === null ? '' : ` WHERE ${scope.emit(select.having, leaf)}`;
  return emitOutputs(select, () => `${groups.from}${values.joins()}${having}`, leaf, column, scope);
}

/**
 * Subqueries that are values, as tables of one row each beside the others: computed once, and never within what a warehouse cannot
 * have a subquery in. `joins` gives those that have been met.
 */
function oneRowTables(scope: StatementScope): { readonly leaf: Leaf; joins(): string } {
  const tables = new Map<ResolvedStatement, string>();
  const joins: string[] = [];
  return {
    leaf(part) {
      if (part.kind !== 'subquery') return null;
      const known = tables.get(part.statement);
      if (known !== undefined) return `${known}.${part.form === 'exists' ? 'c1' : 'c0'}`;
      const [inner, table] = [scope.newTable(), scope.newTable()];
      tables.set(part.statement, table);
      const rows = `(${scope.inner(part.statement)}) AS ${inner}`;
      // A query of many rows is asked for one only where all that matters is whether there is one.
      const one =
        part.form === 'scalar'
          ? `SELECT ${scope.dialect.anyValue(`${inner}.c0`)} AS c0, COUNT(*) > 0 AS c1 FROM ${rows}`
          : `SELECT COUNT(*) > 0 AS c1 FROM (SELECT 1 AS one FROM ${rows} LIMIT 1) AS ${inner}`;
      joins.push(scope.guard(` CROSS JOIN (${one}) AS ${table}`));
      return `${table}.${part.form === 'exists' ? 'c1' : 'c0'}`;
    },
    joins: () => joins.join(''),
  };
}

/** FROM and WHERE, written when all that reads their rows is, and what is known of these. */
function emitRows(select: PlainSelect, scope: StatementScope): { from(): string; readonly leaf: Leaf } {
  const tables = new Map<number, string>();
  const values = oneRowTables(scope);
  const leaf: Leaf = (part) =>
    part.kind === 'column' ? `${tables.get(part.source)}.c${part.column}` : values.leaf(part);
  const emit: Emit = (expression) => scope.emit(expression, leaf);
  const hoisted: string[] = [];
  const emitOn = (on: ResolvedExpression, middle: number): string =>
    scope.emit(on, (part) => joinKeys(part, select.from, middle, emit, scope) ?? leaf(part));
  const from = emitFrom(select.from, { scope, tables, emit, emitOn }, hoisted);
  const conditions = [...hoisted, ...(select.where === null ? [] : [emit(select.where)])];
  const where = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`;
  return { from: () => `FROM ${from}${values.joins()}${where}`, leaf };
}

interface FromScope {
  readonly scope: StatementScope;
  readonly tables: Map<number, string>;
  readonly emit: Emit;
  readonly emitOn: (on: ResolvedExpression, middle: number) => string;
}

/** An equality that a warehouse can only join by where both numbers are of one type, and that is not known; else null. */
function joinKeys(
  part: ResolvedExpression,
  from: PlainFrom,
  middle: number,
  emit: Emit,
  { dialect: { keyInJoin } }: StatementScope,
): string | null {
  if (keyInJoin === null || part.kind !== 'compare' || !isEquality(part, middle)) return null;
  const { left, right } = part;
  if (typeOf(left) !== 'number' || areJoinable(left, right, from)) return null;
  return `(${keyInJoin(emit(left))} = ${keyInJoin(emit(right))})`;
}

/** @param hoisted takes conditions of inner joins that may stand in WHERE as well; null: they may not */
function emitFrom(from: PlainFrom, it: FromScope, hoisted: string[] | null): string {
  const { scope, tables, emit, emitOn } = it;
  if (from.kind === 'source') {
    const table = scope.newTable();
    tables.set(from.source, table);
    return scope.guard(`(${scope.inner(from.statement)}) AS ${table}`);
  }
  const { type, on } = from;
  const isInner = type === 'cross' || type === 'inner';
  const left = emitFrom(from.left, it, isInner || type === 'left' ? hoisted : null);
  const right = emitFrom(from.right, it, isInner || type === 'right' ? hoisted : null);
  const second = from.right.kind === 'join' ? `(${right})` : right;
  if (on === null) return `${left} CROSS JOIN ${second}`;
  const middle = firstSource(from.right);
  if (isInner && !conjunctsOf(on).some((condition) => isEquality(condition, middle))) {
    // Not every warehouse joins by anything but equal values.
    if (hoisted === null) {
      throw new SemanticError(
        'SQL_NOT_SUPPORTED',
        'Semantic SQL does not allow a JOIN without equal values within an outer join.',
        'Put it in a subquery.',
        on.location,
      );
    }
    hoisted.push(emit(on));
    return `${left} CROSS JOIN ${second}`;
  }
  return `${left} ${type.toUpperCase()} JOIN ${second} ON ${emitOn(on, middle)}`;
}

const firstSource = (from: PlainFrom): number => (from.kind === 'source' ? from.source : firstSource(from.left));

/** Groups as a derived table of keys and aggregates, and what emits an expression over it. */
function emitGroups(
  select: PlainSelect,
  groupBy: readonly ResolvedExpression[],
  rows: () => string,
  rowLeaf: Leaf,
  scope: StatementScope,
): { readonly from: string; readonly leaf: Leaf } {
  const emitRow: Emit = (expression) => scope.emit(expression, rowLeaf);
  const numberOf = numberExpressions();
  const table = scope.newTable();
  const columns: string[] = [];
  const nameOf = new Map<number, string>();
  for (const key of groupBy) {
    // A literal is no key: it would be a parameter in GROUP BY, and means the same outside.
    if (isWrittenOut(key) || nameOf.has(numberOf(key))) continue;
    nameOf.set(numberOf(key), `${table}.k${nameOf.size}`);
    columns.push(`${emitRow(key)} AS k${columns.length}`);
  }
  // Grouped by literals alone, there is one group, and none where there are no rows.
  if (columns.length === 0 && groupBy.length > 0) columns.push('1 AS k0');
  const keys = columns.length;
  const addAggregates = (expression: ResolvedExpression): void => {
    const number = numberOf(expression);
    if (nameOf.has(number)) return;
    if (expression.kind !== 'aggregate') {
      for (const part of partsOf(expression)) addAggregates(part);
      return;
    }
    const { function: name, argument } = expression;
    const value = argument === null ? null : emitRow(argument);
    const type = argument === null ? 'number' : memberTypeOf(argument);
    const column = `a${columns.length - keys}`;
    nameOf.set(number, `${table}.${column}`);
    columns.push(`${scope.dialect.aggregate(name, value, null, type)} AS ${column}`);
  };
  for (const { expression } of [...select.select, ...select.orderBy]) addAggregates(expression);
  if (select.having !== null) addAggregates(select.having);
  if (columns.length === 0) columns.push('COUNT(*) AS one');
  const by = keys === 0 ? '' : ` GROUP BY ${Array.from({ length: keys }, (_, at) => at + 1).join(', ')}`;
  return {
    from: `FROM (${scope.guard(`SELECT ${columns.join(', ')} ${rows()}${by}`)}) AS ${table}`,
    leaf: (part) => nameOf.get(numberOf(part)) ?? null,
  };
}

/** The SELECT around rows or groups: outputs, windows, order and page. */
function emitOutputs(
  select: PlainSelect,
  from: () => string,
  leaf: Leaf,
  column: EmitColumn,
  scope: StatementScope,
): string {
  const { rows, emit } = emitWindows(select, from, leaf, scope);
  const values = select.select.map(({ expression }) => emit(expression));
  if (!select.isDistinct) {
    const columns = values.map(column);
    // What is sorted by may read values of subqueries: `rows` is written when all have been met.
    const sorts = sortsOf(select.orderBy, emit, scope);
    return `SELECT ${columns.join(', ')} ${rows()}${emitEnd(sorts, select)}`;
  }
  // Made distinct first: what rows are sorted by may be another expression over the same column, as a collation is.
  const table = scope.newTable();
  const numberOf = numberExpressions();
  const placeOf = new Map(select.select.map(({ expression }, at) => [numberOf(expression), `${table}.c${at}`]));
  const columns = values.map((_, at) => column(`${table}.c${at}`, at));
  const sorts = sortsOf(select.orderBy, (it) => placeOf.get(numberOf(it)) ?? emit(it), scope);
  const inner = `SELECT DISTINCT ${values.map((sql, at) => `${sql} AS c${at}`).join(', ')} ${rows()}`;
  return `SELECT ${columns.join(', ')} FROM (${scope.guard(inner)}) AS ${table}${emitEnd(sorts, select)}`;
}

/**
 * What emits the outputs, and the rows that they are emitted over. Window functions within other expressions are computed in a SELECT of
 * their own first: not everything may stand around one.
 */
function emitWindows(
  { select, orderBy }: PlainSelect,
  from: () => string,
  leaf: Leaf,
  scope: StatementScope,
): { rows(): string; readonly emit: Emit } {
  const emitRow: Emit = (expression) => scope.emit(expression, leaf);
  const withWindows: Leaf = (part) => (part.kind === 'window' ? emitWindow(part, emitRow, scope) : leaf(part));
  const outputs = [...select, ...orderBy].map(({ expression }) => expression);
  if (!outputs.some((it) => it.kind !== 'window' && contains(it, 'window'))) {
    return { rows: from, emit: (expression) => scope.emit(expression, withWindows) };
  }
  const table = scope.newTable();
  const names = new Map<string, string>();
  const emit: Emit = (expression) =>
    scope.emit(expression, (part) => {
      const sql = withWindows(part);
      if (sql === null) return null;
      const name = names.get(sql) ?? `v${names.size}`;
      names.set(sql, name);
      return `${table}.${name}`;
    });
  for (const expression of outputs) emit(expression);
  const columns = [...names].map(([sql, name]) => `${sql} AS ${name}`);
  return { rows: () => `FROM (${scope.guard(`SELECT ${columns.join(', ')} ${from()}`)}) AS ${table}`, emit };
}

const sortsOf = (orderBy: readonly ResolvedSort[], emit: Emit, { dialect }: StatementScope): readonly string[] =>
  orderBy.map((it) => emitSort({ sql: emit(it.expression), type: typeOf(it.expression) }, it, dialect));

function emitWindow(window: ResolvedExpression & { kind: 'window' }, emit: Emit, scope: StatementScope): string {
  const { function: name, args, partitionBy, orderBy, frame } = window;
  const bound = (rows: number | null, unbounded: string): string => {
    if (rows === null) return `UNBOUNDED ${unbounded}`;
    return rows === 0 ? 'CURRENT ROW' : `${Math.abs(rows)} ${rows < 0 ? 'PRECEDING' : 'FOLLOWING'}`;
  };
  const over = [
    ...(partitionBy.length === 0 ? [] : [`PARTITION BY ${partitionBy.map(emit).join(', ')}`]),
    ...(orderBy.length === 0 ? [] : [`ORDER BY ${sortsOf(orderBy, emit, scope).join(', ')}`]),
    ...(frame === null ? [] : [`ROWS BETWEEN ${bound(frame.from, 'PRECEDING')} AND ${bound(frame.to, 'FOLLOWING')}`]),
  ].join(' ');
  const [value] = args;
  return scope.dialect.window(name, args.map(emit), over, value === undefined ? 'number' : memberTypeOf(value));
}
