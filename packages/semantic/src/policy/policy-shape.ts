/**
 * What of a user's row filters decides the text of a compiled query, apart from the values that are bound. Two users with the same
 * shape are asked the same SQL, each with their own values.
 */
import type { BoundValue } from './bound-value.ts';
import type { RowFilter } from './row-filter.ts';

/** A filter without its values: the kind and place of each are part of it. A list of one user may be as long as two values of another. */
export function filterShape(filter: RowFilter): string {
  if (filter.kind !== 'compare') return `${filter.kind}(${filter.filters.map(filterShape).join(' ')})`;
  const values = filter.values.map(
    ({ value, origin }) => `${kindOf(value)}${origin.slice(origin.lastIndexOf(' ') + 1)}`,
  );
  return `${filter.operator}(${[JSON.stringify(filter.member), ...values].join(' ')})`;
}

/** The values of a filter by their origin, added to `values`. */
export function collectValues(filter: RowFilter, values: Map<string, BoundValue>): void {
  if (filter.kind === 'compare') for (const { value, origin } of filter.values) values.set(origin, value);
  else for (const inner of filter.filters) collectValues(inner, values);
}

/** A letter for each type of parameter that a value may become. */
function kindOf(value: BoundValue): string {
  if (typeof value === 'string') return 's';
  if (typeof value === 'boolean') return 'b';
  return typeof value === 'bigint' || Number.isSafeInteger(value) ? 'i' : 'd';
}
