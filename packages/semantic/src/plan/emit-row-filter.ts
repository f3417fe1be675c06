/** Row filters of policies in SQL. */
import type { MemberType } from '../model/data-model.ts';
import type { PlacedValue, RowFilter } from '../policy/row-filter.ts';
import type { Pattern } from '../query/like-pattern.ts';
import type { CompileContext } from './group-scope.ts';

/**
 * The SQL of a row filter: true, false or null, of which only true lets a row pass.
 * @param columnOf gives the SQL and type of the dimension that a comparison names
 */
export function emitRowFilter(
  filter: RowFilter,
  context: Pick<CompileContext, 'binder' | 'dialect'>,
  columnOf: (member: string) => { readonly sql: string; readonly type: MemberType },
): string {
  const { binder, dialect } = context;
  if (filter.kind !== 'compare') {
    if (filter.filters.length === 0) return filter.kind === 'and' ? 'TRUE' : 'FALSE';
    const parts = filter.filters.map((it) => emitRowFilter(it, context, columnOf));
    return parts.length === 1 ? parts.join('') : `(${parts.join(filter.kind === 'and' ? ' AND ' : ' OR ')})`;
  }
  const { sql, type } = columnOf(filter.member);
  // Bound only where it is used: a parameter that the text does not name is an error.
  const list = () => filter.values.map(({ value, origin }) => binder.bind(value, type, origin)).join(', ');
  const like = ({ value, origin }: PlacedValue, pattern: Pattern) =>
    dialect.like(sql, binder.bindPattern(String(value), pattern, origin), false);
  // Texts have one order everywhere, whatever collation the warehouse has.
  const sorted = (it: string) => (type === 'string' ? dialect.ordered(it) : it);
  /** `condition` of the member and the list. */
  const test = (condition: (value: string, list: string) => string): string =>
    type === 'time'
      ? dialect.compareTimes([sql, list()], (one = '', other = '') => condition(one, other))
      : condition(sql, list());
  const compare = (operator: string) => test((value, list) => `(${sorted(value)} ${operator} ${sorted(list)})`);
  const isLike = (pattern: Pattern) => `(${filter.values.map((value) => like(value, pattern)).join(' OR ')})`;
  const isNotLike = (pattern: Pattern) => `(NOT ${isLike(pattern)} OR ${sql} IS NULL)`;
  switch (filter.operator) {
    case 'equals':
      return test((value, list) => `(${value} IN (${list}))`);
    case 'notEquals':
      return `(${test((value, list) => `${value} NOT IN (${list})`)} OR ${sql} IS NULL)`;
    case 'contains':
      return isLike('anywhere');
    case 'notContains':
      return isNotLike('anywhere');
    case 'startsWith':
      return isLike('at-start');
    case 'notStartsWith':
      return isNotLike('at-start');
    case 'endsWith':
      return isLike('at-end');
    case 'notEndsWith':
      return isNotLike('at-end');
    case 'gt':
      return compare('>');
    case 'gte':
      return compare('>=');
    case 'lt':
      return compare('<');
    case 'lte':
      return compare('<=');
    case 'set':
      return `(${sql} IS NOT NULL)`;
    case 'notSet':
      return `(${sql} IS NULL)`;
  }
}
