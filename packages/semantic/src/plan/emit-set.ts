/** UNION, INTERSECT and EXCEPT: the rows of several queries under each other. */
import type { Dialect } from '../dialects/dialect.ts';
import type { ValueType } from '../query/resolved-expression.ts';
import type { ResolvedStatement } from '../query/resolved-statement.ts';
import type { EmitColumn } from './compile-query.ts';
import { emitEnd, emitSort } from './emit-end.ts';
import type { StatementScope } from './emit-plain-select.ts';
import { areOfOneKind } from './set-numbers.ts';
import { ofOneKind } from './value-kind.ts';

type SetStatement = ResolvedStatement & { readonly kind: 'set' };

/** @param column writes a column with its name */
export function emitSet(set: SetStatement, column: EmitColumn, scope: StatementScope): string {
  const { dialect } = scope;
  const mixed =
    dialect.sameKind === null
      ? []
      : set.columns.flatMap(({ type }, at) => (type === 'number' && !areOfOneKind(set.branches, at) ? [at] : []));
  const rows = mixed.length === 0 ? emitRows(set, scope) : emitMixedRows(set, mixed, scope);
  const table = scope.newTable();
  const columns = set.columns.map((_, at) => column(`${table}.c${at}`, at));
  const sorts = set.orderBy.map((sort) =>
    emitSort({ sql: `${table}.c${sort.column}`, type: set.columns[sort.column]?.type ?? 'null' }, sort, dialect),
  );
  return `SELECT ${columns.join(', ')} FROM (${scope.guard(rows)}) AS ${table}${emitEnd(sorts, set)}`;
}

function emitRows(set: SetStatement, scope: StatementScope): string {
  const operator = {
    union: 'UNION DISTINCT',
    'union-all': 'UNION ALL',
    intersect: 'INTERSECT DISTINCT',
    except: 'EXCEPT DISTINCT',
  }[set.operator];
  const branches = set.branches.map((branch) => {
    const table = scope.newTable();
    const columns = set.columns.map((_, at) => `${valueIn(set, branch, at, table, scope)} AS c${at}`);
    return `SELECT ${columns.join(', ')} FROM (${scope.inner(branch)}) AS ${table}`;
  });
  // EXCEPT is read from the left: what the first has and none of the others.
  return branches.reduce((left, right) => `${left} ${operator} ${right}`);
}

/**
 * The same where the numbers of some columns have no common kind that the warehouse finds: each query has a column of its own for them,
 * and they are made of one kind when all of these are there to tell which. What is in which query is then told by counting.
 */
function emitMixedRows(set: SetStatement, mixed: readonly number[], scope: StatementScope): string {
  const own = (at: number): readonly string[] => set.branches.map((_, of) => `n${at}_${of}`);
  const branches = set.branches.map((branch, number) => {
    const table = scope.newTable();
    const columns = set.columns.flatMap((_, at) => {
      const value = valueIn(set, branch, at, table, scope);
      if (!mixed.includes(at)) return [`${value} AS c${at}`];
      return own(at).map((name, of) => `${of === number ? value : 'NULL'} AS ${name}`);
    });
    return `SELECT ${[...columns, `${number} AS of`].join(', ')} FROM (${scope.inner(branch)}) AS ${table}`;
  });
  const table = scope.newTable();
  const columns = set.columns.map((_, at) => {
    if (!mixed.includes(at)) return `${table}.c${at} AS c${at}`;
    const names = own(at).map((name) => `${table}.${name}`);
    return `coalesce(${ofOneKind(names, scope.dialect).join(', ')}) AS c${at}`;
  });
  const from = `FROM (${scope.guard(branches.join(' UNION ALL '))}) AS ${table}`;
  if (set.operator === 'union-all') return `SELECT ${columns.join(', ')} ${from}`;
  if (set.operator === 'union') return `SELECT DISTINCT ${columns.join(', ')} ${from}`;
  const group = scope.newTable();
  const names = set.columns.map((_, at) => `${group}.c${at}`);
  const inFirst = set.operator === 'except' ? `MAX(${group}.of) = 0` : `${distinct(group, scope)} = ${branches.length}`;
  const rows = `SELECT ${[...columns, `${table}.of AS of`].join(', ')} ${from}`;
  const outer = names.map((name, at) => `${name} AS c${at}`).join(', ');
  return `SELECT ${outer} FROM (${rows}) AS ${group} GROUP BY ${names.join(', ')} HAVING ${inFirst}`;
}

const distinct = (table: string, { dialect }: StatementScope): string =>
  dialect.aggregate('count_distinct', `${table}.of`, null, 'number');

/** A value of one of the queries; null as a value of the others' type. */
function valueIn(
  set: SetStatement,
  branch: ResolvedStatement,
  at: number,
  table: string,
  scope: StatementScope,
): string {
  const type = set.columns[at]?.type ?? 'null';
  const isUntyped = branch.columns[at]?.type === 'null' && type !== 'null';
  return isUntyped ? nullOf(type, scope.dialect) : `${table}.c${at}`;
}

function nullOf(type: ValueType, dialect: Dialect): string {
  const target = {
    string: 'text',
    number: 'bigint',
    boolean: 'boolean',
    time: 'timestamp',
    'local-time': 'timestamp',
    null: 'text',
  } as const;
  return dialect.cast(dialect.text('NULL'), 'string', target[type], null);
}
