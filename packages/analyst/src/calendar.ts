/** Calendar arithmetic on `YYYY-MM-DD` days, without a clock or a time zone. */

/** The lengths of time that a breakdown can have; SQL's `date_trunc` knows them by these names. */
export const grains = ['day', 'week', 'month', 'quarter', 'year'] as const;

/** A length of time. */
export type Grain = (typeof grains)[number];

/** A stretch of days: `from` is in it, `to` is the first day after it; `label` is for people. */
export interface Period {
  readonly from: string;
  readonly to: string;
  readonly label: string;
}

/** The English month names, January first. */
export const monthNames: readonly string[] =
  'January February March April May June July August September October November December'.split(' ');

/** The day as `YYYY-MM-DD`; `month` is 1–12 and may run over, so 13 is January of the next year. */
export function dayOf(year: number, month: number, day: number): string {
  return new Date(Date.UTC(year, month - 1, day)).toISOString().slice(0, 10);
}

/** Year, month (1–12) and day of a `YYYY-MM-DD` text, or undefined when there is no such day. */
export function partsOf(day: string): { year: number; month: number; day: number } | undefined {
  const match = /^(\d{4})-(\d{2})-(\d{2})/.exec(day);
  if (match === null) return undefined;
  const [year, month, date] = [Number(match[1]), Number(match[2]), Number(match[3])];
  const isReal = year >= 100 && month >= 1 && month <= 12 && date >= 1 && dayOf(year, month, date) === match[0];
  return isReal ? { year, month, day: date } : undefined;
}

/** The day `count` days later (earlier when negative). `day` must be a real day. */
export function addDays(day: string, count: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + count * 86_400_000).toISOString().slice(0, 10);
}

/** `4 March 2024`. */
export function dayLabel(day: string): string {
  const parts = partsOf(day);
  return parts === undefined ? day : `${parts.day} ${monthNames[parts.month - 1]} ${parts.year}`;
}

/**
 * The calendar unit that holds `day`, moved by `offset` units (-1: the one before). Weeks begin on Monday.
 * Undefined when `day` is no real day or the result leaves the years 100 to 9999.
 */
export function unitAround(day: string, grain: Grain, offset: number): Period | undefined {
  const parts = partsOf(day);
  if (parts === undefined || Math.abs(offset) > 100_000) return undefined;
  const { year, month } = parts;
  if (grain === 'day' || grain === 'week') {
    const weekday = (new Date(`${day}T00:00:00Z`).getUTCDay() + 6) % 7;
    const from = grain === 'day' ? addDays(day, offset) : addDays(day, 7 * offset - weekday);
    return period(from, addDays(from, grain === 'day' ? 1 : 7), grain);
  }
  const months = { month: 1, quarter: 3, year: 12 }[grain];
  const index = Math.floor((year * 12 + month - 1) / months) + offset;
  const first = index * months;
  if (first < 1200 || first + months >= 119_988) return undefined;
  const start = (count: number): string => dayOf(Math.floor(count / 12), (count % 12) + 1, 1);
  return period(start(first), start(first + months), grain);
}

/** What a unit that begins on `from` is called: `March 2024`, `Q1 2024`, `week of 4 March 2024`. */
export function unitLabel(from: string, grain: Grain): string {
  const parts = partsOf(from);
  if (parts === undefined) return from;
  switch (grain) {
    case 'day':
      return dayLabel(from);
    case 'week':
      return `week of ${dayLabel(from)}`;
    case 'month':
      return `${monthNames[parts.month - 1]} ${parts.year}`;
    case 'quarter':
      return `Q${Math.ceil(parts.month / 3)} ${parts.year}`;
    case 'year':
      return String(parts.year);
  }
}

function period(from: string, to: string, grain: Grain): Period {
  return { from, to, label: unitLabel(from, grain) };
}
