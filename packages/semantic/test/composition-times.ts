/** Units and lengths of time by the calendar alone, for the oracle of measures made of each other. Times are milliseconds of a wall clock. */
import type { Span, Unit } from './random-measures.ts';

/** A length of time. */
export interface Length {
  readonly months: number;
  readonly ms: number;
}

const hour = 3_600_000;
/** A day in milliseconds. */
export const day = 24 * hour;

/** A length as it is written. */
export const lengthOf = ({ count, unit }: Span): Length => {
  const months = { hour: 0, day: 0, week: 0, month: 1, quarter: 3, year: 12 }[unit];
  const ms = { hour, day, week: 7 * day, month: 0, quarter: 0, year: 0 }[unit];
  return { months: months * count, ms: ms * count };
};
/** The same length the other way. */
export const back = ({ months, ms }: Length): Length => ({ months: -months, ms: -ms });

/** A time moved: its months first, cut to the end of the month. */
export function move(time: number, { months, ms }: Length): number {
  const date = new Date(time);
  const month = date.getUTCMonth() + months;
  const last = new Date(Date.UTC(date.getUTCFullYear(), month + 1, 0)).getUTCDate();
  const midnight = Date.UTC(date.getUTCFullYear(), month, Math.min(date.getUTCDate(), last));
  return midnight + (((time % day) + day) % day) + ms;
}

/** From the beginning of a unit to that of the next. */
export const unitLength: Readonly<Record<Unit, Length>> = {
  hour: { months: 0, ms: hour },
  day: { months: 0, ms: day },
  week: { months: 0, ms: 7 * day },
  month: { months: 1, ms: 0 },
  quarter: { months: 3, ms: 0 },
  year: { months: 12, ms: 0 },
  fiscal_year: { months: 12, ms: 0 },
  mid_month: { months: 1, ms: 0 },
  fortnight: { months: 0, ms: 14 * day },
  shift: { months: 0, ms: 12 * hour },
};

/** The beginning of one of the units. */
const beginnings: Readonly<Record<Unit, number>> = {
  hour: 0,
  day: 0,
  week: Date.UTC(2024, 0, 1),
  month: Date.UTC(2000, 0, 1),
  quarter: Date.UTC(2000, 0, 1),
  year: Date.UTC(2000, 0, 1),
  fiscal_year: Date.UTC(2000, 3, 1),
  mid_month: Date.UTC(2000, 0, 28, 12),
  fortnight: Date.UTC(2024, 0, 1),
  shift: Date.UTC(2024, 0, 1, 6),
};

/** The beginning of the unit that a time lies in: of those that are counted from one, the last that is not behind it. */
export function truncate(unit: Unit, time: number): number {
  const { months, ms } = unitLength[unit];
  const first = beginnings[unit];
  if (months === 0) return first + Math.floor((time - first) / ms) * ms;
  const about = (new Date(time).getUTCFullYear() - 2000) * 12 + new Date(time).getUTCMonth();
  let count = Math.floor(about / months) + 1;
  while (move(first, { months: count * months, ms: 0 }) > time) count -= 1;
  return move(first, { months: count * months, ms: 0 });
}

/** The beginning of the unit behind the one that begins there. */
export const next = (unit: Unit, bucket: number): number => move(bucket, unitLength[unit]);
