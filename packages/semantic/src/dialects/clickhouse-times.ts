/** Times in ClickHouse's SQL: units, parts, buckets and series, right in every year that its DateTime64 holds. */
import type { Interval } from '../model/data-model.ts';
import type { DatePart, Granularity } from '../query/semantic-query.ts';
import { binOrigin, binSeconds } from './time-bins.ts';

const micros = (sql: string): string => `toUnixTimestamp64Micro(${sql})`;
const fromMicros = (sql: string): string => `fromUnixTimestamp64Micro(${sql}, 'UTC')`;
const microsPerSecond = 1_000_000n;

/**
 * The beginning of the bucket of a time, counted from one in microseconds since 1970. Counted from before all times, for a division that
 * rounds down there.
 */
function floorMicros(sql: string, step: bigint, origin: bigint): string {
  const base = origin - step * (100_000_000_000_000_000n / step + 1n);
  const shifted = `(${micros(sql)} - (${base}))`;
  return fromMicros(`(${base}) + intDiv(${shifted}, ${step}) * ${step}`);
}

/** A time moved by months. The fraction of a second is put aside: before 1970 addMonths would take it for another second. */
export const movedByMonths = (sql: string, months: number): string =>
  `addMicroseconds(addMonths(${floorMicros(sql, microsPerSecond, 0n)}, ${months}), positiveModulo(${micros(sql)}, ${microsPerSecond}))`;

/** Months from the beginning of the year 0 up to a time's, January of that year being 1. */
const monthNumber = (sql: string): string => `toRelativeMonthNum(${sql})`;

const fixedUnits: Readonly<Record<Exclude<Granularity, 'month' | 'quarter' | 'year'>, bigint>> = {
  second: 1n,
  minute: 60n,
  hour: 3600n,
  day: 86_400n,
  week: 604_800n,
};
/** The first Monday since 1970, in seconds. */
const firstMonday = 4n * 86_400n;
const monthUnits = { month: 1, quarter: 3, year: 12 } as const;
const epochMonth = 1970 * 12;

const parts: Readonly<Record<DatePart, (sql: string) => string>> = {
  year: (sql) => `toYear(${sql})`,
  isoyear: (sql) => `toISOYear(${sql})`,
  quarter: (sql) => `toQuarter(${sql})`,
  month: (sql) => `toMonth(${sql})`,
  week: (sql) => `toISOWeek(${sql})`,
  day: (sql) => `toDayOfMonth(${sql})`,
  dow: (sql) => `(toDayOfWeek(${sql}) % 7)`,
  isodow: (sql) => `toDayOfWeek(${sql})`,
  doy: (sql) => `toDayOfYear(${sql})`,
  hour: (sql) => `toHour(${sql})`,
  minute: (sql) => `toMinute(${sql})`,
  second: (sql) => `(positiveModulo(${micros(sql)}, 60000000) * toDecimal64('0.000001', 6))`,
  epoch: (sql) => `(${micros(sql)} * toDecimal64('0.000001', 6))`,
};

/** See Dialect.datePart. */
export const datePart = (part: DatePart, sql: string): string => parts[part](sql);

/** See Dialect.dateTrunc. */
export function dateTrunc(granularity: Granularity, sql: string): string {
  switch (granularity) {
    case 'month':
    case 'quarter':
    case 'year': {
      const unit = monthUnits[granularity];
      const months = unit === 1 ? `${monthNumber(sql)} - 1` : `intDiv(${monthNumber(sql)} - 1, ${unit}) * ${unit}`;
      return `addMonths(toDateTime64('1970-01-01 00:00:00', 6, 'UTC'), ${months} - ${epochMonth})`;
    }
    case 'week':
      return floorMicros(sql, fixedUnits.week * microsPerSecond, firstMonday * microsPerSecond);
    default:
      return floorMicros(sql, fixedUnits[granularity] * microsPerSecond, 0n);
  }
}

/** See Dialect.dateBin. */
export function dateBin(bin: Interval, origin: string, sql: string): string {
  const { text, months, days, seconds } = binOrigin(bin, origin);
  if (bin.months === 0) {
    const start = BigInt(Date.parse(`${text.replace(' ', 'T')}Z`)) * 1000n;
    return floorMicros(sql, BigInt(binSeconds(bin)) * microsPerSecond, start);
  }
  const shifted = days === 0 && seconds === 0 ? sql : `addSeconds(${sql}, ${-(days * 86_400 + seconds)})`;
  // From so long before that the division rounds down.
  const ahead = bin.months * 100_000;
  const bins = `intDiv(${monthNumber(shifted)} - ${months} + ${ahead}, ${bin.months}) * ${bin.months} - ${ahead}`;
  return `addMonths(toDateTime64('${text}', 6, 'UTC'), ${bins})`;
}

/** See Dialect.series. */
export function series(from: string, to: string, step: Interval, alias: string): string {
  const [count, bucket] =
    step.months === 0
      ? [
          `intDiv(${micros(to)} - ${micros(from)}, ${binSeconds(step)}000000)`,
          fromMicros(`${micros(from)} + step * ${binSeconds(step)}000000`),
        ]
      : [
          `intDiv(toInt64(${monthNumber(to)}) - toInt64(${monthNumber(from)}), ${step.months})`,
          `addMonths(${from}, step * ${step.months})`,
        ];
  const steps = `range(toUInt64(greatest(0, ifNull(toInt64(${count}) + 1, 0))))`;
  const buckets = `arrayFilter(bucket -> ifNull(bucket <= ${to}, 0), arrayMap(step -> ${bucket}, ${steps}))`;
  return `(SELECT arrayJoin(${buckets}) AS "bucket") AS ${alias}`;
}
