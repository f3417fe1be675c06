/** Filters of a JSON query: JSON → typed conditions, values still as written. */
import { z } from 'zod';
import { nearNames } from '../closest-names.ts';
import { type DateRange, type RangeClock, rangeHint, readDateRange, readMoment } from './date-range.ts';
import { loadError, memberName, readShape } from './load-shape.ts';

/** A value as written. */
export type LoadValue = string | number | boolean | null;

/** Operators that compare with values. Those with `not` keep rows without a value, as Cube's do. */
export const valueOperators = [
  'equals',
  'notEquals',
  'contains',
  'notContains',
  'startsWith',
  'notStartsWith',
  'endsWith',
  'notEndsWith',
  'gt',
  'gte',
  'lt',
  'lte',
] as const;
/** One of them. */
export type ValueOperator = (typeof valueOperators)[number];

const dateOperators = [
  'inDateRange',
  'notInDateRange',
  'beforeDate',
  'beforeOrOnDate',
  'afterDate',
  'afterOrOnDate',
] as const;
/** `measureFilter`: the rows that a measure counts; clients write it to drill down into one. */
const operators = [...valueOperators, ...dateOperators, 'set', 'notSet', 'measureFilter'] as const;

/** Operators as SQL and other query languages write them, which no operator's name is like. */
const meantBy: ReadonlyMap<string, (typeof operators)[number]> = new Map([
  ['in', 'equals'],
  ['=', 'equals'],
  ['==', 'equals'],
  ['eq', 'equals'],
  ['is', 'equals'],
  ['notin', 'notEquals'],
  ['not in', 'notEquals'],
  ['<>', 'notEquals'],
  ['!=', 'notEquals'],
  ['ne', 'notEquals'],
  ['neq', 'notEquals'],
  ['>', 'gt'],
  ['>=', 'gte'],
  ['<', 'lt'],
  ['<=', 'lte'],
  ['like', 'contains'],
  ['between', 'inDateRange'],
]);

/** A condition of a JSON query. `member` is `relation.member`, `path` where it stands in the query. */
export type LoadFilter =
  | { readonly kind: 'and' | 'or'; readonly filters: readonly LoadFilter[]; readonly path: string }
  | {
      readonly kind: 'compare';
      readonly member: string;
      readonly operator: ValueOperator;
      /** At least one. */
      readonly values: readonly LoadValue[];
      readonly path: string;
    }
  | { readonly kind: 'set' | 'not-set' | 'counted-by'; readonly member: string; readonly path: string }
  /** From `from` on, before `until`, or both; `isNegated`: neither. */
  | {
      readonly kind: 'time';
      readonly member: string;
      readonly from: string | null;
      readonly until: string | null;
      readonly isNegated: boolean;
      readonly path: string;
    };

const value = z.union(
  [z.string().max(10_000), z.number(), z.boolean(), z.null()],
  'must be a text, a number, true, false or null',
);
const shape = z.strictObject({
  member: z.string().max(200).optional(),
  // The older name of `member`.
  dimension: z.string().max(200).optional(),
  operator: z.string().max(100),
  values: z.array(value, 'must be a list').max(1000).nullish(),
});
/** Conditions of one query, in groups and outside of them. */
export const filtersMax = 200;
const groupShape = z.array(z.unknown(), 'must be a list').min(1, 'must not be empty').max(filtersMax);
const andShape = z.strictObject({ and: groupShape });
const orShape = z.strictObject({ or: groupShape });

/** How many conditions there are in filters. */
export const countFilters = (filters: readonly LoadFilter[]): number =>
  filters.reduce((sum, it) => sum + ('filters' in it ? countFilters(it.filters) : 1), 0);

/**
 * Reads one filter, groups with all that is in them.
 * @param path where it stands: `filters.0`
 * @throws SemanticError QUERY_INVALID
 */
export function readFilter(json: unknown, path: string, clock: RangeClock): LoadFilter {
  const has = (key: string): boolean => typeof json === 'object' && json !== null && Object.hasOwn(json, key);
  const group = (kind: 'and' | 'or', list: readonly unknown[]): LoadFilter => ({
    kind,
    filters: list.map((it, at) => readFilter(it, `${path}.${kind}.${at}`, clock)),
    path,
  });
  if (has('and')) return group('and', readShape(andShape, json, path).and);
  if (has('or')) return group('or', readShape(orShape, json, path).or);
  const read = readShape(shape, json, path);
  if (read.member !== undefined && read.dimension !== undefined && read.member !== read.dimension) {
    throw loadError(path, 'has both member and dimension');
  }
  const member = read.member ?? read.dimension ?? '';
  memberName(member, `${path}.member`);
  const values = read.values ?? [];
  // It has lost digits on its way here, and may be the key of something else.
  if (values.some((it) => typeof it === 'number' && Math.abs(it) > Number.MAX_SAFE_INTEGER)) {
    throw loadError(
      `${path}.values`,
      'has a number beyond 2^53, which JSON does not hold exactly',
      'Write it as a text.',
    );
  }
  const operator = operators.find((it) => it === read.operator);
  if (operator === undefined) {
    const meant = meantBy.get(read.operator.trim().toLowerCase());
    const near = meant === undefined ? nearNames(read.operator, operators) : [meant];
    const hint = near.length > 0 ? `Closest: ${near.join(', ')}` : `Known: ${operators.join(', ')}`;
    throw loadError(`${path}.operator`, `is unknown: "${read.operator.slice(0, 64)}"`, hint);
  }
  switch (operator) {
    case 'set':
    case 'notSet':
    case 'measureFilter':
      if (values.length > 0) throw loadError(`${path}.values`, `must be left out with ${operator}`);
      return { kind: operator === 'set' ? 'set' : operator === 'notSet' ? 'not-set' : 'counted-by', member, path };
    case 'inDateRange':
    case 'notInDateRange':
      return { kind: 'time', member, ...rangeOf(values, path, clock), isNegated: operator === 'notInDateRange', path };
    case 'beforeDate':
    case 'beforeOrOnDate':
    case 'afterDate':
    case 'afterOrOnDate': {
      const moment = momentOf(values, operator, path, clock);
      const bound = operator === 'beforeDate' || operator === 'afterOrOnDate' ? moment.from : moment.until;
      const isLower = operator === 'afterDate' || operator === 'afterOrOnDate';
      return {
        kind: 'time',
        member,
        from: isLower ? bound : null,
        until: isLower ? null : bound,
        isNegated: false,
        path,
      };
    }
    default: {
      const isOrder = operator === 'gt' || operator === 'gte' || operator === 'lt' || operator === 'lte';
      if (values.length === 0) throw loadError(`${path}.values`, 'must not be empty');
      if (isOrder && values.length > 1) throw loadError(`${path}.values`, `must be one value with ${operator}`);
      return { kind: 'compare', member, operator, values, path };
    }
  }
}

function rangeOf(values: readonly LoadValue[], path: string, clock: RangeClock): DateRange {
  const texts = values.filter((it) => typeof it === 'string');
  const range = texts.length === values.length ? readDateRange(texts, clock) : null;
  if (range !== null) return range;
  throw loadError(`${path}.values`, 'are no range of time', rangeHint);
}

/** One day or time; a phrase for one, such as `yesterday`. */
function momentOf(values: readonly LoadValue[], operator: string, path: string, clock: RangeClock): DateRange {
  const [text, more] = values;
  const trimmed = typeof text === 'string' && more === undefined ? text.trim() : null;
  const moment = trimmed === null ? null : (readMoment(trimmed) ?? readDateRange(trimmed, clock));
  if (moment !== null) return moment;
  throw loadError(`${path}.values`, `must be one day or time with ${operator}`, 'Write "2024-01-31".');
}
