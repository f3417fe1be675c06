/** The units that times are truncated to: those that are built in, and those that a time dimension of the model declares. */
import type { Dialect } from '../dialects/dialect.ts';
import type { CustomGranularity, Dimension, Interval } from '../model/data-model.ts';
import { lengthOf } from '../model/interval.ts';
import { type DatePart, type Granularity, granularities } from '../query/semantic-query.ts';
import { hasDays, hasMonths, hasSeconds } from './interval-arithmetic.ts';

/** A unit of time that divides the time line into buckets. */
export type Grain =
  | { readonly kind: 'built-in'; readonly granularity: Granularity }
  | { readonly kind: 'declared'; readonly granularity: CustomGranularity };

const builtIn = (granularity: Granularity): Grain => ({ kind: 'built-in', granularity });

/** The unit of that name as a dimension knows it: its own before a built-in one; null when there is none. */
export function grainNamed(name: string, dimension: Pick<Dimension, 'granularities'> | null): Grain | null {
  const declared = dimension?.granularities.get(name);
  if (declared !== undefined) return { kind: 'declared', granularity: declared };
  const found = granularities.find((it) => it === name);
  return found === undefined ? null : builtIn(found);
}

/** The beginning of the bucket that a timestamp (a wall clock's) lies in. */
export function emitTrunc(grain: Grain, sql: string, dialect: Dialect): string {
  if (grain.kind === 'built-in') return dialect.dateTrunc(grain.granularity, sql);
  return dialect.dateBin(grain.granularity.interval, grain.granularity.origin, sql);
}

/** The length of a bucket: what lies between its beginning and that of the next. */
export const unitOf = (grain: Grain): Interval =>
  grain.kind === 'built-in' ? lengthOf(1, grain.granularity) : grain.granularity.interval;

/** Whether its buckets begin at midnight, and whether on the first of a month. */
export function beginsAt(grain: Grain): { readonly midnight: boolean; readonly firstOfMonth: boolean } {
  const unit = unitOf(grain);
  if (grain.kind === 'built-in') {
    return { midnight: !hasSeconds(unit), firstOfMonth: hasMonths(unit) };
  }
  const midnight = !hasSeconds(unit) && grain.granularity.origin.slice(11, 19) === '00:00:00';
  const isMonths = hasMonths(unit) && !hasDays(unit);
  return { midnight, firstOfMonth: midnight && isMonths && grain.granularity.origin.slice(8, 10) === '01' };
}

const order: readonly Granularity[] = ['second', 'minute', 'hour', 'day', 'month', 'quarter', 'year'];

/** Whether each bucket of `fine` lies in one bucket of `coarse`; false where that is not known. */
export function nests(fine: Grain, coarse: Grain): boolean {
  if (fine.kind === 'declared') {
    if (coarse.kind === 'declared') return fine.granularity === coarse.granularity;
    const { midnight, firstOfMonth } = beginsAt(fine);
    const isOne = (unit: Granularity) =>
      JSON.stringify(fine.granularity.interval) === JSON.stringify(lengthOf(1, unit));
    // Calendar days and months under another name.
    if (midnight && isOne('day')) return nests(builtIn('day'), coarse);
    return firstOfMonth && isOne('month') && nests(builtIn('month'), coarse);
  }
  if (coarse.kind === 'declared') {
    const { midnight, firstOfMonth } = beginsAt(coarse);
    if (firstOfMonth) return fine.granularity === 'month' || nests(fine, builtIn('day'));
    return midnight && nests(fine, builtIn('day'));
  }
  if (fine.granularity === 'week') return coarse.granularity === 'week';
  if (coarse.granularity === 'week') return nests(fine, builtIn('day'));
  return order.indexOf(fine.granularity) <= order.indexOf(coarse.granularity);
}

const partUnits: Readonly<Record<DatePart, Granularity | null>> = {
  year: 'year',
  isoyear: 'week',
  quarter: 'quarter',
  month: 'month',
  week: 'week',
  day: 'day',
  dow: 'day',
  isodow: 'day',
  doy: 'day',
  hour: 'hour',
  minute: 'minute',
  // With fractions.
  second: null,
  epoch: null,
};

/** The unit within which a part of a time is always the same; null: none. */
export function unitOfPart(part: DatePart): Grain | null {
  const unit = partUnits[part];
  return unit === null ? null : builtIn(unit);
}
