/**
 * The date operators of policies as comparisons of times, in UTC. A value without a time of day is the whole day: a range ends with its
 * last day, and after a day is from the next day on. A value with a time of day is that instant.
 */
import type { DateOperator } from '../model/policy-operators.ts';
import { parseTime } from '../parse-time.ts';
import type { BoundValue } from './bound-value.ts';
import { combine, noRows, type RowFilter, type RowOperator } from './row-filter.ts';

/** How a time compares with the beginning of a day, of the day behind it, or with an instant. */
interface Edge {
  readonly operator: RowOperator & ('lt' | 'lte' | 'gt' | 'gte');
  readonly value: BoundValue;
}

const day = /^\d{4}-\d{2}-\d{2}$/;

/**
 * A date filter as comparisons; false when a value is missing or no time, or there are more or fewer than the operator takes.
 */
export function dateFilter(
  member: string,
  operator: DateOperator,
  items: readonly { readonly item: unknown; readonly origin: string }[],
): RowFilter {
  const isRange = operator === 'inDateRange' || operator === 'notInDateRange';
  if (items.length !== (isRange ? 2 : 1)) return noRows;
  const edges = edgesOf(operator, items[0]?.item, items[1]?.item);
  const filters = items.flatMap(({ origin }, at): RowFilter[] => {
    const edge = edges[at] ?? null;
    return edge === null
      ? []
      : [{ kind: 'compare', member, operator: edge.operator, values: [{ value: edge.value, origin }] }];
  });
  if (filters.length < items.length) return noRows;
  return combine(operator === 'notInDateRange' ? 'or' : 'and', filters);
}

function edgesOf(operator: DateOperator, first: unknown, second: unknown): readonly (Edge | null)[] {
  switch (operator) {
    case 'inDateRange':
      return [from(first), upTo(second)];
    case 'notInDateRange':
      return [before(first), after(second)];
    case 'beforeDate':
      return [before(first)];
    case 'beforeOrOnDate':
      return [upTo(first)];
    case 'afterDate':
      return [after(first)];
    case 'afterOrOnDate':
      return [from(first)];
  }
}

const from = (value: unknown): Edge | null => edge('gte', value);
const before = (value: unknown): Edge | null => edge('lt', value);
const upTo = (value: unknown): Edge | null => behindDay('lt', value) ?? edge('lte', value);
const after = (value: unknown): Edge | null => behindDay('gte', value) ?? edge('gt', value);

function edge(operator: Edge['operator'], value: unknown): Edge | null {
  const time = typeof value === 'string' ? parseTime(value) : null;
  return time === null ? null : { operator, value: time };
}

/** Compares with the beginning of the next day; null when the value is no day, or no day has a next one that engines agree on. */
function behindDay(operator: Edge['operator'], value: unknown): Edge | null {
  if (typeof value !== 'string' || !day.test(value) || parseTime(value) === null) return null;
  const date = new Date(`${value}T00:00:00Z`);
  date.setUTCDate(date.getUTCDate() + 1);
  // The last day of the calendar has no next one of four digits.
  if (date.getUTCFullYear() > 9999) return edge(operator === 'lt' ? 'lte' : 'gt', `${value} 23:59:59.999999`);
  return edge(operator, date.toISOString().slice(0, 10));
}
