/** What stands at the end of every SELECT: ORDER BY, LIMIT and OFFSET. */
import type { Dialect } from '../dialects/dialect.ts';
import type { ValueType } from '../query/resolved-expression.ts';

/** A value that rows are sorted by. Where nulls go is always said, since engines differ. */
export function emitSort(
  value: { readonly sql: string; readonly type: ValueType },
  { isDescending, nullsFirst }: { readonly isDescending: boolean; readonly nullsFirst: boolean },
  dialect: Dialect,
): string {
  const sql = value.type === 'string' ? dialect.ordered(value.sql) : value.sql;
  return `${sql} ${isDescending ? 'DESC' : 'ASC'} NULLS ${nullsFirst ? 'FIRST' : 'LAST'}`;
}

/** The clauses behind the rows of a SELECT, with a blank before each; empty where there is none. */
export function emitEnd(
  sorts: readonly string[],
  { limit, offset }: { readonly limit: number | null; readonly offset: number | null },
): string {
  const order = sorts.length === 0 ? '' : ` ORDER BY ${sorts.join(', ')}`;
  return `${order}${limit === null ? '' : ` LIMIT ${limit}`}${offset === null ? '' : ` OFFSET ${offset}`}`;
}
