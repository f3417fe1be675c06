/**
 * The JSON form of a query, as clients of Cube's REST API send it: JSON → a `LoadQuery`, or several where it compares ranges of time.
 * What is not known is refused by its name: a filter that is passed over gives a wrong number.
 */
import { z } from 'zod';
import { type DateRange, inclusiveRange, rangeHint, readDateRange } from './date-range.ts';
import { countFilters, filtersMax, type LoadFilter, readFilter } from './load-filter.ts';
import { guardJson, type LoadLimits, largestLoad, loadError, memberName, readShape } from './load-shape.ts';
import { zoneNamed } from './zoned-time.ts';

/** A time dimension as asked for: cut to a unit, kept to a range, or both. */
export interface LoadTimeDimension {
  /** `relation.member` */
  readonly dimension: string;
  /** A unit of `date_trunc`, built in or declared by the dimension; null: it is no column of the result. */
  readonly granularity: string | null;
  readonly range: DateRange | null;
}

/** A query over views or joined cubes. Names of members are `relation.member`, still as written. */
export interface LoadQuery {
  readonly measures: readonly string[];
  readonly dimensions: readonly string[];
  readonly segments: readonly string[];
  readonly timeDimensions: readonly LoadTimeDimension[];
  /** All have to hold. */
  readonly filters: readonly LoadFilter[];
  /** By names of columns; null: the query does not say. */
  readonly order: readonly { readonly name: string; readonly isDescending: boolean }[] | null;
  readonly limit: number;
  readonly offset: number;
  /** Whether the number of rows without `limit` and `offset` is asked for, too. */
  readonly hasTotal: boolean;
  /** `UTC`, or a name of the zone database. */
  readonly timezone: string;
  readonly isUngrouped: boolean;
  readonly fillMissingDates: boolean;
  readonly responseFormat: 'default' | 'compact' | 'columnar';
  /** Which of the ranges that are compared it is for, `2024-01-01T00:00:00.000 - 2024-01-31T23:59:59.999`; null: none are. */
  readonly comparedRange: string | null;
  /** The query as clients expect it back: what it left out is filled in, phrases are ranges. */
  readonly normalised: Readonly<Record<string, unknown>>;
}

/** What a JSON query is read with. */
export interface LoadOptions {
  readonly now: Date;
  /** Where the query names none: `UTC`, or a name of the zone database. */
  readonly timezone?: string | undefined;
  /** Left out: the largest. */
  readonly limits?: LoadLimits | undefined;
}

/** Ranges that one query may compare. */
const comparedMax = 20;

const names = z.array(z.string().max(200), 'must be a list of names');
const dateRange = z.union(
  [z.string().max(200), z.array(z.string().max(200)).min(1).max(2)],
  'must be a text or a pair',
);
const timeDimension = z.strictObject({
  dimension: z.string().max(200),
  granularity: z.string().max(100).nullish(),
  dateRange: dateRange.nullish(),
  compareDateRange: z.array(dateRange, 'must be a list of ranges').min(1).max(comparedMax).nullish(),
});
const direction = z.enum(['asc', 'desc', 'none'], 'must be asc, desc or none');
const whole = z.int('must be a whole number').min(0, 'must not be negative');
const flag = z.boolean('must be true or false').nullish();
const ignored = z.unknown().optional();
const shape = z.strictObject({
  measures: names.nullish(),
  dimensions: names.nullish(),
  segments: names.nullish(),
  timeDimensions: z.array(z.unknown(), 'must be a list').nullish(),
  filters: z.array(z.unknown(), 'must be a list').nullish(),
  order: z.unknown().optional(),
  limit: whole.nullish(),
  rowLimit: whole.nullish(),
  offset: whole.max(2_147_483_647, 'is too large').nullish(),
  total: flag,
  timezone: z.string().max(64).nullish(),
  ungrouped: flag,
  fillMissingDates: flag,
  responseFormat: z.enum(['default', 'compact', 'columnar'], 'must be default, compact or columnar').nullish(),
  // How Cube keeps results: there is nothing here to choose.
  renewQuery: ignored,
  cache: ignored,
  cacheMode: ignored,
  // Clients send these along; they say how they read the result.
  queryType: ignored,
  castNumerics: ignored,
});

/**
 * Reads a JSON query.
 * @param json as it was parsed
 * @returns one query, or one for each range of `compareDateRange`, in its order
 * @throws SemanticError QUERY_INVALID that says what is wrong and where, QUERY_NOT_PLANNABLE for a zone that there is not
 */
export function parseLoadQuery(json: unknown, options: LoadOptions): readonly LoadQuery[] {
  const limits = options.limits ?? largestLoad;
  guardJson(json);
  const given = readShape(shape, json, '');
  const timezone = zoneNamed(given.timezone ?? options.timezone);
  const clock = { now: options.now, timezone };
  const times = (given.timeDimensions ?? []).map((it, at) => {
    const read = readShape(timeDimension, it, `timeDimensions.${at}`);
    memberName(read.dimension, `timeDimensions.${at}.dimension`);
    return read;
  });
  const filters = (given.filters ?? []).map((it, at) => readFilter(it, `filters.${at}`, clock));
  if (countFilters(filters) > filtersMax) throw loadError('filters', `has more than ${filtersMax} conditions`);
  const written = [...(given.dimensions ?? [])];
  for (const [key, list] of Object.entries({ measures: given.measures, segments: given.segments })) {
    for (const [at, name] of (list ?? []).entries()) memberName(name, `${key}.${at}`);
  }
  // `orders.created_at.month` is short for a time dimension.
  const short = written.filter((it) => it.split('.').length === 3).map(shortTime);
  const dimensions = written.filter((it) => it.split('.').length !== 3);
  for (const [at, name] of dimensions.entries()) memberName(name, `dimensions.${at}`);
  const limit = given.limit ?? given.rowLimit ?? Math.min(limits.loadRowsDefault, limits.loadRowsMax);
  if (limit > limits.loadRowsMax) {
    throw loadError('limit', `must be at most ${limits.loadRowsMax}`, '/cubesql has no limit of rows.');
  }
  const order = readOrder(given.order);
  const base = {
    measures: unique(given.measures ?? []),
    dimensions: unique(dimensions),
    segments: unique(given.segments ?? []),
    filters,
    order,
    limit,
    offset: given.offset ?? 0,
    hasTotal: given.total ?? false,
    timezone,
    isUngrouped: given.ungrouped ?? false,
    fillMissingDates: given.fillMissingDates ?? false,
    responseFormat: given.responseFormat ?? 'default',
  } as const;
  if (base.measures.length + base.dimensions.length + times.length + short.length > membersMax) {
    throw loadError('', `has more than ${membersMax} measures and dimensions`);
  }
  if (base.segments.length > membersMax) throw loadError('segments', `has more than ${membersMax} names`);
  const variants = compare(times);
  return variants.map((variant) => {
    const timeDimensions = [...variant.map((it, at) => readTime(it, at, clock)), ...short];
    const ranges = timeDimensions.map(({ range }) => (range === null ? undefined : inclusiveRange(range, clock)));
    const { hasTotal, isUngrouped, order: sorted, filters: _read, ...same } = base;
    const compared = variant.find(({ isCompared }) => isCompared);
    return {
      ...base,
      timeDimensions,
      comparedRange: compared === undefined ? null : (ranges[variant.indexOf(compared)] ?? []).join(' - '),
      normalised: {
        ...same,
        filters: given.filters ?? [],
        order: (sorted ?? []).map(({ name, isDescending }) => ({ id: name, desc: isDescending })),
        timeDimensions: timeDimensions.map(({ dimension, granularity }, at) => ({
          dimension,
          ...(granularity === null ? {} : { granularity }),
          ...(ranges[at] === undefined ? {} : { dateRange: ranges[at] }),
        })),
        rowLimit: limit,
        ...(hasTotal ? { total: true } : {}),
        ...(isUngrouped ? { ungrouped: true } : {}),
      },
    };
  });
}

/** Measures, dimensions and time dimensions of one query. */
const membersMax = 100;

type WrittenTime = z.infer<typeof timeDimension> & { readonly isCompared?: boolean };

/** The time dimensions once for each range that is compared. */
function compare(times: readonly z.infer<typeof timeDimension>[]): readonly (readonly WrittenTime[])[] {
  const [compared, second] = times.filter((it) => (it.compareDateRange ?? null) !== null);
  if (compared === undefined) return [times];
  if (second !== undefined) throw loadError('timeDimensions', 'may compare ranges of one time dimension only');
  const path = `timeDimensions.${times.indexOf(compared)}`;
  if ((compared.dateRange ?? null) !== null) throw loadError(path, 'has both dateRange and compareDateRange');
  return (compared.compareDateRange ?? []).map((range) =>
    times.map((it) => (it === compared ? { ...it, dateRange: range, isCompared: true } : it)),
  );
}

function readTime(
  { dimension, granularity, dateRange: written }: WrittenTime,
  at: number,
  clock: { readonly now: Date; readonly timezone: string },
): LoadTimeDimension {
  const range = written === null || written === undefined ? null : readDateRange(written, clock);
  if (range === null && written !== null && written !== undefined) {
    const text = [written].flat().join(', ').slice(0, 80);
    throw loadError(`timeDimensions.${at}.dateRange`, `is no range of time: "${text}"`, rangeHint);
  }
  return { dimension, granularity: granularity ?? null, range };
}

function shortTime(name: string): LoadTimeDimension {
  const parts = name.split('.');
  return { dimension: parts.slice(0, 2).join('.'), granularity: parts[2] ?? '', range: null };
}

/** `{ "orders.count": "desc" }`, `[["orders.count", "desc"]]`, or `[{ "id": "orders.count", "desc": true }]` as it comes back. */
function readOrder(order: unknown): LoadQuery['order'] {
  if (order === undefined || order === null) return null;
  const list: readonly unknown[] = Array.isArray(order)
    ? order
    : Object.entries(readShape(z.looseObject({}, 'must be a map or a list'), order, 'order'));
  if (list.length > membersMax) throw loadError('order', `has more than ${membersMax} entries`);
  return list.flatMap((entry, at) => {
    const path = `order.${at}`;
    if (!Array.isArray(entry)) {
      const { id, desc } = readShape(z.strictObject({ id: z.string().max(200), desc: z.boolean() }), entry, path);
      return [{ name: id, isDescending: desc }];
    }
    const [name, wanted = 'asc'] = readShape(z.tuple([z.string().max(200), direction.optional()]), entry, path);
    return wanted === 'none' ? [] : [{ name, isDescending: wanted === 'desc' }];
  });
}

const unique = (list: readonly string[]): readonly string[] => [...new Set(list)];
