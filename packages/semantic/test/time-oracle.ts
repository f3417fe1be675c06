/**
 * Answers about orders over time by the definition alone: every window, shift and stage worked out row by row, for one bucket of time
 * after the other. It knows nothing of the compiler.
 */
import type { Order } from './time-shop.ts';

/** A unit of time; the last is the model's own, beginning in April. */
export type Unit = 'day' | 'week' | 'month' | 'quarter' | 'year' | 'fiscal_year';
/** A length of time in calendar units. */
interface Length {
  readonly months?: number;
  readonly days?: number;
}
type Figure = number | null | undefined;
/** What the rows of a group come to; undefined: no rows. */
type Aggregate = (rows: readonly Order[]) => number | null;

/** How a measure is computed. */
type Definition =
  | { readonly kind: 'plain'; readonly of: Aggregate }
  | { readonly kind: 'window'; readonly of: Aggregate; readonly from: Edge; readonly until: Edge }
  | { readonly kind: 'shift'; readonly inner: string; readonly by: Length; readonly direction: -1 | 1 }
  | { readonly kind: 'whole'; readonly inner: string; readonly keep: (key: Key) => boolean }
  | {
      readonly kind: 'over';
      readonly inner: string;
      readonly keep: (key: Key) => boolean;
      readonly of: (values: number[]) => number;
    }
  | {
      readonly kind: 'deeper';
      readonly inner: string;
      readonly by: 'buyer' | 'region';
      readonly of: (values: number[]) => number;
    }
  | { readonly kind: 'formula'; readonly of: (value: (measure: string) => Figure) => Figure };
/** An end of a window, from the beginning and the end of a bucket; null: none. */
type Edge = ((begin: number, end: number) => number) | null;

/** What is grouped by besides the unit of time. */
export type Key = 'channel' | 'region';

/** A question. `from` and `until` (not in it) are bounds of the time, `web` a further condition. */
export interface Question {
  readonly unit: Unit;
  readonly keys: readonly Key[];
  readonly measures: readonly string[];
  readonly from: string | null;
  readonly until: string | null;
  readonly web: boolean;
}

const ms = (text: string): number => Date.parse(`${text.replace(' ', 'T')}Z`);
const toText = (time: number): string => new Date(time).toISOString().slice(0, 19).replace('T', ' ');
const utc = (year: number, month: number, day = 1): number => Date.UTC(year, month, day);

/** The beginning of the unit that a time lies in. */
export function truncate(unit: Unit, time: number): number {
  const date = new Date(time);
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()];
  switch (unit) {
    case 'day':
      return utc(year, month, day);
    case 'week':
      return utc(year, month, day - ((date.getUTCDay() + 6) % 7));
    case 'month':
      return utc(year, month);
    case 'quarter':
      return utc(year, month - (month % 3));
    case 'year':
      return utc(year, 0);
    case 'fiscal_year':
      return utc(month < 3 ? year - 1 : year, 3);
  }
}

/** A time moved: months first, cut to the end of the month, then days. */
export function move(time: number, { months = 0, days = 0 }: Length, direction = 1): number {
  const date = new Date(time);
  const month = date.getUTCMonth() + months * direction;
  const last = new Date(utc(date.getUTCFullYear(), month + 1, 0)).getUTCDate();
  const moved = utc(date.getUTCFullYear(), month, Math.min(date.getUTCDate(), last)) + (time % 86_400_000);
  return moved + days * direction * 86_400_000;
}

const lengths: Readonly<Record<Unit, Length>> = {
  day: { days: 1 },
  week: { days: 7 },
  month: { months: 1 },
  quarter: { months: 3 },
  year: { months: 12 },
  fiscal_year: { months: 12 },
};

const amounts = (rows: readonly Order[]) => rows.flatMap(({ amount }) => (amount === null ? [] : [amount]));
const add = (values: readonly number[]) => values.reduce((one, other) => one + other, 0);
const sum: Aggregate = (rows) => (amounts(rows).length === 0 ? null : add(amounts(rows)));
const mean: Aggregate = (rows) => (amounts(rows).length === 0 ? null : add(amounts(rows)) / amounts(rows).length);
const most: Aggregate = (rows) => (amounts(rows).length === 0 ? null : Math.max(...amounts(rows)));
const count: Aggregate = (rows) => rows.length;
const buyers: Aggregate = (rows) => new Set(rows.flatMap(({ buyer }) => (buyer === null ? [] : [buyer]))).size;
const web: Aggregate = (rows) => sum(rows.filter(({ channel }) => channel === 'web'));
const divide = (left: Figure, right: Figure): Figure =>
  left === null || left === undefined || right === null || right === undefined || right === 0 ? null : left / right;

const trailing: Edge = (_, end) => move(end, { months: 3 }, -1);
const toEnd: Edge = (_, end) => end;
const prior = (inner: string, by: Length): Definition => ({ kind: 'shift', inner, by, direction: -1 });
const average = (values: number[]) => add(values) / values.length;

/** The measures of the model, once more. */
export const definitions: Readonly<Record<string, Definition>> = {
  total: { kind: 'plain', of: sum },
  mean: { kind: 'plain', of: mean },
  orders_count: { kind: 'plain', of: count },
  buyers: { kind: 'plain', of: buyers },
  average_order: { kind: 'formula', of: (value) => divide(value('total'), value('orders_count')) },
  total_3m: { kind: 'window', of: sum, from: trailing, until: toEnd },
  count_3m: { kind: 'window', of: count, from: trailing, until: toEnd },
  mean_3m: { kind: 'window', of: mean, from: trailing, until: toEnd },
  most_3m: { kind: 'window', of: most, from: trailing, until: toEnd },
  buyers_3m: { kind: 'window', of: buyers, from: trailing, until: toEnd },
  web_3m: { kind: 'window', of: web, from: trailing, until: toEnd },
  before_3m: { kind: 'window', of: sum, from: (begin) => move(begin, { months: 3 }, -1), until: (begin) => begin },
  around_10d: {
    kind: 'window',
    of: sum,
    from: (_, end) => move(end, { days: 10 }, -1),
    until: (_, end) => move(end, { days: 10 }),
  },
  running: { kind: 'window', of: sum, from: null, until: toEnd },
  ahead: { kind: 'window', of: sum, from: (begin) => begin, until: null },
  ytd: { kind: 'window', of: sum, from: (begin) => truncate('year', begin), until: toEnd },
  fytd: { kind: 'window', of: sum, from: (begin) => truncate('fiscal_year', begin), until: toEnd },
  mean_of_3m: { kind: 'formula', of: (value) => divide(value('total_3m'), value('count_3m')) },
  growth: { kind: 'formula', of: (value) => divide(value('total'), value('total_last_month')) },
  total_last_month: prior('total', { months: 1 }),
  total_last_year: prior('total', { months: 12 }),
  total_next_month: { kind: 'shift', inner: 'total', by: { months: 1 }, direction: 1 },
  total_last_week: prior('total', { days: 7 }),
  buyers_last_month: prior('buyers', { months: 1 }),
  total_3m_last_year: prior('total_3m', { months: 12 }),
  around_last_month: prior('around_10d', { months: 1 }),
  ytd_last_month: prior('ytd', { months: 1 }),
  two_months_ago: prior('total_last_month', { months: 1 }),
  total_of_all: { kind: 'whole', inner: 'total', keep: () => false },
  buyers_of_all: { kind: 'whole', inner: 'buyers', keep: () => false },
  share: { kind: 'formula', of: (value) => divide(value('total'), value('total_of_all')) },
  mean_of_channels: { kind: 'over', inner: 'total', keep: (key) => key !== 'channel', of: average },
  best_channel: { kind: 'over', inner: 'total', keep: (key) => key !== 'channel', of: (values) => Math.max(...values) },
  mean_of_buyers: { kind: 'deeper', inner: 'total', by: 'buyer', of: average },
  best_region: { kind: 'deeper', inner: 'total', by: 'region', of: (values) => Math.max(...values) },
};

/** Whether a measure is made of windows of time. */
function hasWindow(name: string): boolean {
  const definition = definitions[name];
  return (
    definition?.kind === 'window' || (definition !== undefined && 'inner' in definition && hasWindow(definition.inner))
  );
}

/** One row per combination of bucket and keys that any of the measures has rows for, in no order. */
export function answer(question: Question, orders: readonly Order[]): (string | number | null)[][] {
  const { unit, keys, measures } = question;
  const [from, until] = [question.from, question.until].map((it) => (it === null ? null : ms(it)));
  const kept = orders.filter(({ channel }) => !question.web || channel === 'web');
  const times = kept.flatMap(({ at }) => (at === null ? [] : [ms(at)]));
  const isInRange = (time: number) =>
    (from === null || from === undefined || time >= from) && (until === null || until === undefined || time < until);
  const hasRange = question.from !== null || question.until !== null;
  const hasBoth = question.from !== null && question.until !== null;
  const bucketOf = ({ at }: Order) => (at === null ? null : truncate(unit, ms(at)));
  const endOf = (bucket: number) => move(bucket, lengths[unit]);
  const comboOf = (row: Order) => JSON.stringify(keys.map((key) => row[key]));

  /** The value of a measure for a bucket and keys, and undefined where it has no rows. `moved`: looked at from another time. */
  const figure = (name: string, bucket: number | null, combo: string, moved = false, rows = kept): Figure => {
    const definition = definitions[name];
    if (definition === undefined) throw new Error(`no ${name}`);
    const plainRows = () =>
      rows.filter(
        (row) =>
          bucketOf(row) === bucket &&
          comboOf(row) === combo &&
          (moved || !hasRange || (row.at !== null && isInRange(ms(row.at)))),
      );
    switch (definition.kind) {
      case 'plain': {
        const group = plainRows();
        return group.length === 0 ? undefined : definition.of(group);
      }
      case 'window': {
        if (bucket === null) return undefined;
        const [first, last] = [Math.min(...times), Math.max(...times)].map((time) => truncate(unit, time));
        const hasSeries = hasBoth || (bucket >= (first ?? 0) && bucket <= (last ?? 0));
        if (!hasSeries) return undefined;
        const begin = definition.from === null ? Number.NEGATIVE_INFINITY : definition.from(bucket, endOf(bucket));
        const end = definition.until === null ? Number.POSITIVE_INFINITY : definition.until(bucket, endOf(bucket));
        const group = rows
          .filter(({ at }) => at !== null && ms(at) >= begin && ms(at) < end)
          .filter((row) => comboOf(row) === combo);
        return group.length === 0 ? undefined : definition.of(group);
      }
      case 'shift': {
        const { inner, by, direction } = definition;
        if (hasWindow(inner) || (unit === 'day' && by.months !== undefined)) {
          return figure(inner, bucket === null ? null : move(bucket, by, direction), combo, true, rows);
        }
        const later = (at: string | null) => (at === null ? null : toText(move(ms(at), by, -direction)));
        return figure(
          inner,
          bucket,
          combo,
          moved,
          rows.map((row) => ({ ...row, at: later(row.at) })),
        );
      }
      case 'whole': {
        if (figure(definition.inner, bucket, combo, moved, rows) === undefined) return undefined;
        const inner = definitions[definition.inner];
        if (inner?.kind !== 'plain') throw new Error('only of plain measures');
        return inner.of(rows.filter(({ at }) => !hasRange || (at !== null && isInRange(ms(at)))));
      }
      case 'over': {
        if (figure(definition.inner, bucket, combo, moved, rows) === undefined) return undefined;
        const keptKeys = (of: string) =>
          JSON.stringify(keys.flatMap((key, at) => (definition.keep(key) ? [JSON.parse(of)[at]] : [])));
        const others = [...new Set(rows.map(comboOf))].filter((other) => keptKeys(other) === keptKeys(combo));
        const values = others.flatMap((other) => figure(definition.inner, bucket, other, moved, rows) ?? []);
        return values.length === 0 ? null : definition.of(values);
      }
      case 'deeper': {
        const group = plainRows();
        if (group.length === 0) return undefined;
        const parts = Map.groupBy(group, (row) => row[definition.by]);
        const values = [...parts.values()].flatMap((part) => sum(part) ?? []);
        return values.length === 0 ? null : definition.of(values);
      }
      case 'formula': {
        const names: string[] = [];
        const value = definition.of((inner) => {
          names.push(inner);
          return figure(inner, bucket, combo, moved, rows);
        });
        return names.every((inner) => figure(inner, bucket, combo, moved, rows) === undefined) ? undefined : value;
      }
    }
  };

  const isChosen = (bucket: number | null) => {
    if (!hasRange) return true;
    if (bucket === null) return false;
    const begin = Math.max(bucket, from ?? Number.NEGATIVE_INFINITY);
    return begin < Math.min(endOf(bucket), until ?? Number.POSITIVE_INFINITY);
  };
  const buckets: (number | null)[] = [null];
  const bounds = [
    ...times,
    ...(from === null || from === undefined ? [] : [from]),
    ...(until === null || until === undefined ? [] : [until]),
  ];
  const last = Math.max(...bounds) + 420 * 86_400_000;
  for (let at = truncate(unit, Math.min(...bounds) - 420 * 86_400_000); at <= last; at = endOf(at)) buckets.push(at);
  return buckets.filter(isChosen).flatMap((bucket) =>
    [...new Set(kept.map(comboOf))].flatMap((combo) => {
      const values = measures.map((name) => figure(name, bucket, combo));
      if (values.every((value) => value === undefined)) return [];
      return [[bucket === null ? null : toText(bucket), ...JSON.parse(combo), ...values.map((value) => value ?? null)]];
    }),
  );
}

/** The question as semantic SQL. */
export function sqlOf({ unit, keys, measures, from, until, web: isWeb }: Question): string {
  const conditions = [
    ...(from === null ? [] : [`at >= '${from}'`]),
    ...(until === null ? [] : [`at < '${until}'`]),
    ...(isWeb ? ["channel = 'web'"] : []),
  ];
  return [
    `SELECT ${[`date_trunc('${unit}', at)`, ...keys, ...measures.map((it) => `MEASURE(${it})`)].join(', ')} FROM sales`,
    ...(conditions.length === 0 ? [] : [`WHERE ${conditions.join(' AND ')}`]),
    `GROUP BY ${[unit, ...keys].map((_, at) => at + 1).join(', ')}`,
  ].join(' ');
}
