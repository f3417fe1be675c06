/** Arithmetic on times of the calendar, as texts (`YYYY-MM-DD HH:MM:SS.ffffff`): what dialects compute on columns, for literals. */
import type { Interval } from '../model/data-model.ts';
import type { Granularity } from './semantic-query.ts';

const dayMs = 86_400_000;

const read = (text: string) => ({
  ms: Date.parse(`${text.slice(0, 19).replace(' ', 'T')}Z`),
  fraction: text.slice(20),
});

/** Null beyond the years that such a text can hold. */
function write(ms: number, fraction: string): string | null {
  const date = new Date(ms);
  if (Number.isNaN(ms) || date.getUTCFullYear() < 1 || date.getUTCFullYear() > 9999) return null;
  return `${date.toISOString().slice(0, 19).replace('T', ' ')}.${fraction}`;
}

/** The beginning of the unit that a time lies in; weeks begin on Monday. */
export function truncateTime(granularity: Granularity, text: string): string | null {
  const { ms } = read(text);
  const date = new Date(ms);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  const firstOf = (at: number): number => new Date(Date.UTC(2000, at, 1)).setUTCFullYear(year);
  const start = (): number => {
    switch (granularity) {
      case 'second':
        return ms;
      case 'minute':
        return ms - date.getUTCSeconds() * 1000;
      case 'hour':
        return ms - (date.getUTCMinutes() * 60 + date.getUTCSeconds()) * 1000;
      case 'day':
        return date.setUTCHours(0, 0, 0, 0);
      case 'week':
        return date.setUTCHours(0, 0, 0, 0) - ((date.getUTCDay() + 6) % 7) * dayMs;
      case 'month':
        return firstOf(month);
      case 'quarter':
        return firstOf(month - (month % 3));
      case 'year':
        return firstOf(0);
    }
  };
  return write(start(), '000000');
}

/** A time moved by an interval: first its months, cut to the end of the month, then days, then seconds. */
export function shiftTime(text: string, { months, days, seconds }: Interval): string | null {
  const { ms, fraction } = read(text);
  const date = new Date(ms);
  if (months !== 0) {
    const day = date.getUTCDate();
    date.setUTCDate(1);
    date.setUTCMonth(date.getUTCMonth() + months);
    const next = new Date(date);
    next.setUTCMonth(next.getUTCMonth() + 1);
    next.setUTCDate(0);
    date.setUTCDate(Math.min(day, next.getUTCDate()));
  }
  return write(date.getTime() + days * dayMs + seconds * 1000, fraction);
}
