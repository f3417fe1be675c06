/** The SQL of windows of time over rows: every bucket of a series meets the rows of its window. */
import { type Buckets, emitChosen, emitSeries, endsOf } from './buckets.ts';
import { type BlockMeasure, emitFactRows, type FactBlock } from './fact-rows.ts';
import { emitTrunc } from './grain.ts';
import type { GroupKey, GroupScope } from './group-scope.ts';
import type { TimeBounds } from './time-bounds.ts';
import { type Window, windowEnds } from './window-ends.ts';

/** Where the windows of some rows are computed. */
export interface WindowPlace {
  readonly keys: readonly GroupKey[];
  readonly axisKey: GroupKey;
  readonly others: readonly GroupKey[];
  readonly buckets: Buckets;
  readonly bounds: TimeBounds;
  readonly window: Window;
  readonly scope: GroupScope;
}

/** Rows of the same time and keys are aggregated first, so that a window adds up few of them. */
export function emitTogether(block: FactBlock, measures: readonly BlockMeasure[], place: WindowPlace): string {
  const { dialect } = place.scope.context;
  const inner: string[] = [];
  const outer: string[] = [];
  const values: string[] = [];
  const add = (column: string, partial: string, total: string) => {
    inner.push(`${partial} AS ${column}`);
    outer.push(`${total} AS ${column}`);
  };
  const sum = (column: string) => dialect.aggregate('sum', `w.${column}`, null, 'number');
  for (const { name, measure, value, valueType } of measures) {
    const type = value === null ? 'number' : valueType;
    const { aggregation } = measure;
    const of = (aggregate: 'sum' | 'count' | 'min' | 'max') => dialect.aggregate(aggregate, `r.${name}`, null, type);
    if (aggregation === 'avg') {
      add(`${name}_sum`, of('sum'), sum(`${name}_sum`));
      add(`${name}_count`, of('count'), sum(`${name}_count`));
      values.push(`${dialect.divide(`z.${name}_sum`, `z.${name}_count`)} AS ${name}`);
    } else if (aggregation === 'count') {
      add(name, of('count'), sum(name));
      values.push(`${dialect.cast(`z.${name}`, 'number', 'bigint', null)} AS ${name}`);
    } else if (aggregation === 'sum' || aggregation === 'min' || aggregation === 'max') {
      add(name, of(aggregation), dialect.aggregate(aggregation, `w.${name}`, null, type));
      values.push(`z.${name} AS ${name}`);
    } else throw new Error(`a window of ${aggregation} cannot be put together`);
  }
  const times = [...place.others.map(({ name }) => name), 't0'];
  const columns = [...times.map((name) => `r.${name} AS ${name}`), ...inner];
  const rows = `SELECT ${columns.join(', ')} FROM (${emitFactRows(block)}) AS r GROUP BY ${positions(times)}`;
  return overWindows(rows, outer, values, place);
}

/**
 * A count of different values is made of the values, never of counts. Of the times that a value has, the last in a window counts: the
 * next is behind the window's end, so that a bucket meets each value once.
 */
export function emitDistinct(block: FactBlock, { name, valueType }: BlockMeasure, place: WindowPlace): string {
  const { dialect } = place.scope.context;
  const told = [...place.others.map((key) => key.name), name];
  const columns = [...told, 't0'].map((column) => `r.${column} AS ${column}`);
  const distinct = `SELECT DISTINCT ${columns.join(', ')} FROM (${emitFactRows(block)}) AS r`;
  const over = `PARTITION BY ${told.map((column) => `d.${column}`).join(', ')} ORDER BY d.t0`;
  const next = `${dialect.window('lead', ['d.t0'], over, 'time')} AS t1`;
  const followed = `SELECT ${[...told, 't0'].map((column) => `d.${column} AS ${column}`).join(', ')}, ${next} FROM (${distinct}) AS d`;
  const times = [...place.others.map((key) => key.name), 't0', 't1'];
  const count = `${dialect.aggregate('count', `f.${name}`, null, valueType)} AS ${name}`;
  const counts = `SELECT ${[...times.map((column) => `f.${column} AS ${column}`), count].join(', ')} FROM (${followed}) AS f`;
  const rows = `${counts} WHERE f.t0 IS NOT NULL GROUP BY ${positions(times)}`;
  const sum = `${dialect.aggregate('sum', `w.${name}`, null, 'number')} AS ${name}`;
  const value = `${dialect.cast(`z.${name}`, 'number', 'bigint', null)} AS ${name}`;
  return overWindows(rows, [sum], [value], place, (until) =>
    until === null ? 'w.t1 IS NULL' : `(w.t1 IS NULL OR w.t1 >= ${until})`,
  );
}

/** A row that has several times is in a window once, however many of them are in it. */
export function emitEachRow(block: FactBlock, measures: readonly BlockMeasure[], place: WindowPlace): string {
  const { dialect } = place.scope.context;
  const primaryKey = (block.repeated?.primaryKey ?? []).map((_, at) => `p${at}`);
  const inputs = [...primaryKey, ...measures.map(({ name }) => name)].map((name) => `w.${name} AS ${name}`);
  const outer = measures.map(({ name, measure, value, valueType }) => {
    if (measure.aggregation === 'number_agg') throw new Error('no window');
    return `${dialect.aggregate(measure.aggregation, `d.${name}`, null, value === null ? 'number' : valueType)} AS ${name}`;
  });
  const columns = [...place.keys.map(({ name }) => `d.${name} AS ${name}`), ...outer];
  const { head, from } = windowsOf(emitFactRows(block), place);
  const each = `SELECT DISTINCT ${[...keysIn(place), ...inputs].join(', ')} ${from}`;
  return `${head}SELECT ${columns.join(', ')} FROM (${each}) AS d GROUP BY ${positions(place.keys)}`;
}

const positions = (columns: readonly unknown[]): string => columns.map((_, at) => at + 1).join(', ');

const keysIn = ({ keys, axisKey, scope }: WindowPlace): readonly string[] =>
  keys.map(
    (key) => `${key === axisKey ? `s.${scope.context.dialect.quote('bucket')}` : `w.${key.name}`} AS ${key.name}`,
  );

/**
 * A SELECT of aggregates over windows.
 * @param rows the SQL of the rows, with their time as `t0`
 * @param aggregates over the rows `w`
 * @param values over these, `z`: what a warehouse does not compute in one step with an aggregate
 * @param more gives a further condition, from the end of the window (null: it has none)
 */
function overWindows(
  rows: string,
  aggregates: readonly string[],
  values: readonly string[],
  place: WindowPlace,
  more: ((until: string | null) => string) | null = null,
): string {
  const { head, from } = windowsOf(rows, place, more);
  const groups = `SELECT ${[...keysIn(place), ...aggregates].join(', ')} ${from} GROUP BY ${positions(place.keys)}`;
  const columns = [...place.keys.map(({ name }) => `z.${name} AS ${name}`), ...values];
  return `${head}SELECT ${columns.join(', ')} FROM (${groups}) AS z`;
}

/** FROM and WHERE over buckets `s`, each with the rows `w` of its window, and WITH, which stands before the whole. */
function windowsOf(
  rows: string,
  { buckets, bounds, window, scope }: WindowPlace,
  more: ((until: string | null) => string) | null = null,
): { readonly head: string; readonly from: string } {
  const { dialect } = scope.context;
  const bucket = `s.${dialect.quote('bucket')}`;
  const { from, until } = windowEnds(window, bucket, buckets.grain, dialect);
  const conditions = [
    ...emitChosen(bucket, buckets, bounds, scope.context),
    ...(from === null ? [] : [`w.t0 >= ${from}`]),
    // Without an end a window still holds no row whose time is not known.
    until === null ? 'w.t0 IS NOT NULL' : `w.t0 < ${until}`,
    ...(more === null ? [] : [more(until)]),
  ];
  const where = ` WHERE ${conditions.join(' AND ')}`;
  if (endsOf(bounds) !== null) {
    const series = emitSeries(buckets, bounds, null, 's', scope.context);
    return { head: '', from: `FROM ${series} CROSS JOIN (${rows}) AS w${where}` };
  }
  const end = (which: 'MIN' | 'MAX') => {
    const first = emitTrunc(buckets.grain, 'a.t0', dialect);
    return `(SELECT ${first} FROM (SELECT ${which}(r.t0) AS t0 FROM window_rows AS r) AS a)`;
  };
  const series = emitSeries(buckets, bounds, { first: end('MIN'), last: end('MAX') }, 's', scope.context);
  return { head: `WITH window_rows AS (${rows}) `, from: `FROM ${series} CROSS JOIN window_rows AS w${where}` };
}
