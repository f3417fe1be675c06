/**
 * A resolved statement → one SELECT. Each semantic SELECT in it is compiled by itself (compile-query.ts) and stands as a derived table in
 * the plain SELECTs around it, in which every name is generated: tables `q0`, `q1` …, columns `c0`, `c1` …. A query that WITH names is
 * compiled once and its text stands wherever it is used; how large the whole may become is bounded.
 */

import type { ResolvedStatement } from '../query/resolved-statement.ts';
import { memberType, typeOf } from '../query/value-type.ts';
import { SemanticError } from '../semantic-error.ts';
import { compileBlock, type EmitColumn } from './compile-query.ts';
import { emitExpression } from './emit-expression.ts';
import { emitPlainSelect, type StatementScope } from './emit-plain-select.ts';
import { emitSet } from './emit-set.ts';
import type { CompileContext, EmitSubquery } from './group-scope.ts';
import { isOfKind } from './set-numbers.ts';

/** A compiled statement. */
export interface CompiledStatement {
  readonly sql: string;
  /** The names of its columns as the query gives them; those in `sql` may differ, since these need not be unique. */
  readonly columns: readonly string[];
  /** The names of the cubes whose rows it reads. */
  readonly cubes: ReadonlySet<string>;
}

/** Characters of the SQL that a statement may become. A query of WITH that is used often in others that are used often doubles it. */
const sqlCharactersMax = 1_000_000;

/**
 * Compiles a statement that was resolved for the same model and rights.
 * @throws SemanticError QUERY_NOT_PLANNABLE when the data model does not allow a right answer, SQL_TOO_LARGE when the SQL would be
 */
export function compileStatement(
  statement: ResolvedStatement,
  base: Omit<CompileContext, 'subquery'>,
): CompiledStatement {
  const { dialect } = base;
  const cubes = new Set<string>();
  const known = new Map<ResolvedStatement, string>();
  let tables = 0;

  const compile = (it: ResolvedStatement, column: EmitColumn): string => guard(write(it, column));
  const write = (it: ResolvedStatement, column: EmitColumn): string => {
    switch (it.kind) {
      case 'block': {
        const block = compileBlock(it.query, context, column);
        for (const cube of block.cubes) cubes.add(cube);
        return block.sql;
      }
      case 'plain':
        return emitPlainSelect(it.select, column, scope);
      case 'set':
        return emitSet(it, column, scope);
    }
  };
  const scope: StatementScope = {
    newTable: () => `q${tables++}`,
    inner(it) {
      const before = known.get(it);
      if (before !== undefined) return before;
      // What is always null is a text to whoever reads it: it has to have a type.
      const sql = compile(
        it,
        (value, at) => `${it.columns[at]?.type === 'null' ? dialect.text('NULL') : value} AS c${at}`,
      );
      known.set(it, sql);
      return sql;
    },
    guard,
    emit: (expression, leaf) => emitExpression(expression, context, leaf),
    dialect,
  };
  const subquery: EmitSubquery = (expression, emit) => {
    const table = scope.newTable();
    const from = `FROM (${scope.inner(expression.statement)}) AS ${table}`;
    if (expression.kind === 'in-subquery') {
      const isOther = typeOf(expression.operand) === 'number' && !isOfKind(expression.operand, expression.statement, 0);
      const key = (isOther ? dialect.keyInQuery : null) ?? ((sql: string) => sql);
      const operand = emit(expression.operand);
      const values = `SELECT ${key(`${table}.c0`)} ${from} WHERE ${table}.c0 IS NOT NULL`;
      // Warehouses differ in what NULL IN (…) is; here it is null, and nulls among the values are left out.
      return guard(
        `(CASE WHEN ${operand} IS NOT NULL THEN ${key(operand)} ${expression.isNegated ? 'NOT ' : ''}IN (${values}) END)`,
      );
    }
    if (expression.form === 'scalar') return guard(`(SELECT ${table}.c0 ${from})`);
    return guard(`((SELECT COUNT(*) FROM (SELECT 1 AS one ${from} LIMIT 1) AS ${table}) > 0)`);
  };
  const context: CompileContext = { ...base, subquery };

  const names = uniqueNames(statement.columns.map(({ name }) => name));
  const sql = compile(statement, (value, at) => {
    const type = memberType(statement.columns[at]?.type ?? 'null');
    return `${dialect.selected(value, type)} AS ${dialect.quote(names[at] ?? '')}`;
  });
  return { sql, columns: statement.columns.map(({ name }) => name), cubes };
}

function guard(sql: string): string {
  if (sql.length <= sqlCharactersMax) return sql;
  throw new SemanticError(
    'SQL_TOO_LARGE',
    'The SQL becomes too large for a warehouse.',
    'Use the queries of WITH fewer times.',
  );
}

/** Names of which no two are the same in any case of letters: not every warehouse takes two columns of one name. */
function uniqueNames(names: readonly string[]): readonly string[] {
  const taken = new Set(names.map((name) => name.toLowerCase()));
  const seen = new Map<string, number>();
  return names.map((name) => {
    const key = name.toLowerCase();
    let count = (seen.get(key) ?? 0) + 1;
    let unique = name;
    for (; count > 1 && taken.has(unique.toLowerCase()); count += 1) unique = `${name} ${count}`;
    seen.set(key, Math.max(count - 1, 1));
    taken.add(unique.toLowerCase());
    return unique;
  });
}
