/** Lengths of time as models write them: `1 month`, `1 year 6 months`, `-3 days`; and the beginnings of custom units. Pure. */
import type { Interval } from './data-model.ts';

const units = {
  second: { months: 0, days: 0, seconds: 1 },
  minute: { months: 0, days: 0, seconds: 60 },
  hour: { months: 0, days: 0, seconds: 3600 },
  day: { months: 0, days: 1, seconds: 0 },
  week: { months: 0, days: 7, seconds: 0 },
  month: { months: 1, days: 0, seconds: 0 },
  quarter: { months: 3, days: 0, seconds: 0 },
  year: { months: 12, days: 0, seconds: 0 },
} as const satisfies Readonly<Record<string, Interval>>;

/** A unit of time that needs no declaration. */
export type BuiltInUnit = keyof typeof units;

/** The length of so many units; a negative number of them leads back. */
export function lengthOf(count: number, unit: BuiltInUnit): Interval {
  const { months, days, seconds } = units[unit];
  // Not minus zero, which is another zero.
  return { months: count * months || 0, days: count * days || 0, seconds: count * seconds || 0 };
}

/** The units that need no declaration. */
export const isBuiltInUnit = (name: string): name is BuiltInUnit => Object.hasOwn(units, name);

/** A thousand years: times beyond are in no calendar that all warehouses have. */
const limits: Interval = { months: 12_000, days: 366_000, seconds: 366_000 * 86_400 };

/** One quantity with its unit. */
export interface Quantity {
  readonly count: number;
  readonly unit: BuiltInUnit;
}

/** The quantities of a length; null when it is not one. Each may be negative, none is zero. */
export function parseQuantities(text: string): readonly Quantity[] | null {
  const words = text.trim().toLowerCase().split(/\s+/);
  if (words.length < 2 || words.length > 16 || words.length % 2 !== 0) return null;
  const quantities: Quantity[] = [];
  for (let at = 0; at < words.length; at += 2) {
    const unit = (words[at + 1] ?? '').replace(/s$/, '');
    const count = /^[+-]?\d{1,9}$/.test(words[at] ?? '') ? Number(words[at]) : 0;
    if (count === 0 || !isBuiltInUnit(unit)) return null;
    quantities.push({ count, unit });
  }
  return quantities;
}

/** The length that quantities add up to; null when it is nothing, or longer than a thousand years. */
export function intervalOf(quantities: readonly Quantity[]): Interval | null {
  const sum = { months: 0, days: 0, seconds: 0 };
  for (const { count, unit } of quantities) {
    const { months, days, seconds } = lengthOf(count, unit);
    sum.months += months;
    sum.days += days;
    sum.seconds += seconds;
  }
  const isNothing = sum.months === 0 && sum.days === 0 && sum.seconds === 0;
  const isOver =
    Math.abs(sum.months) > limits.months || Math.abs(sum.days) > limits.days || Math.abs(sum.seconds) > limits.seconds;
  return isNothing || isOver ? null : sum;
}

/** {@link parseQuantities}, then {@link intervalOf}. */
export function parseInterval(text: string): Interval | null {
  const quantities = parseQuantities(text);
  return quantities === null ? null : intervalOf(quantities);
}

/**
 * A local time as `2024-04-01T00:00:00` from a year, a date, or a date and time; a `Z` at the end and fractions of zero are dropped.
 * Null when it is none.
 */
export function parseLocalTime(text: string): string | null {
  const match = /^(\d{4})(?:-(\d{2})(?:-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.0{1,9})?)?Z?)?)?)?$/.exec(
    text.trim(),
  );
  if (match === null) return null;
  const [, year = '', month = '01', day = '01', hour = '00', minute = '00', second = '00'] = match;
  const time = `${year}-${month}-${day}T${hour}:${minute}:${second}`;
  // What is no date comes back as another one, or as none.
  const date = new Date(`${time}Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(time) ? time : null;
}

/** A local time moved by a length: months first, then days, then seconds. Null where the day is not in the month. */
export function addToLocalTime(time: string, { months, days, seconds }: Interval): string | null {
  const date = new Date(`${time}Z`);
  const day = date.getUTCDate();
  date.setUTCMonth(date.getUTCMonth() + months);
  if (date.getUTCDate() !== day) return null;
  date.setTime(date.getTime() + (days * 86_400 + seconds) * 1000);
  return Number.isNaN(date.getTime()) ? null : (/^\d{4}-.{14}/.exec(date.toISOString())?.[0] ?? null);
}

/** How long an answer may be kept, in seconds (`30 seconds`, `1 hour`, `1 day`); null when it is not such a length. */
export function parseSeconds(text: string): number | null {
  const quantities = parseQuantities(text);
  const interval = quantities === null ? null : intervalOf(quantities);
  if (interval === null || interval.months !== 0) return null;
  const seconds = interval.days * 86_400 + interval.seconds;
  return seconds > 0 ? seconds : null;
}
