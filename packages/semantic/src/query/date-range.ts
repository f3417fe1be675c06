/**
 * Ranges of time as the JSON query writes them: days, times, and phrases such as `last 7 days`. Wall clocks of the query's zone, whole
 * weeks from Monday. A range's end is meant with all that it is written with (`2024-01-31`: the whole day), and comes out half-open.
 */
import type { Interval } from '../model/data-model.ts';
import { lengthOf } from '../model/interval.ts';
import { parseTime } from '../parse-time.ts';
import { shiftTime, truncateTime } from './calendar.ts';
import { type Granularity, granularities } from './semantic-query.ts';
import { localToUtc, utcToLocal } from './zoned-time.ts';

/** Times t with `from` ≤ t < `until`, as literals of semantic SQL: local to the query's zone, or with a `Z` in UTC. */
export interface DateRange {
  readonly from: string;
  readonly until: string;
}

/** What phrases are read by. */
export interface RangeClock {
  readonly now: Date;
  /** `UTC`, or a name of the zone database. */
  readonly timezone: string;
}

/** The last time that a text of four digits for the year can say. */
const lastTime = '9999-12-31 23:59:59.999999';
/** How far a phrase may reach, in its own units. */
const unitsMax = 100_000;

const written =
  /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?<second>:\d{2}(?:\.(?<fraction>\d{1,6}))?)?)?(?<zone>Z|[+-]00(?::?00)?)?$/;

/** The times that are meant by one text, `2024-01-31` or `2024-01-31T13:45`; null when it is no time of the calendar. */
export function readMoment(text: string): DateRange | null {
  const match = written.exec(text);
  const from = parseTime(text);
  if (match === null || from === null) return null;
  const { second, fraction, zone } = match.groups ?? {};
  const suffix = zone === undefined ? '' : 'Z';
  const until = text.length < 16 ? shiftTime(from, lengthOf(1, 'day')) : behindClock(from, second, fraction);
  return { from: from + suffix, until: (until ?? lastTime) + suffix };
}

function behindClock(from: string, second: string | undefined, fraction: string | undefined): string | null {
  if (second === undefined) return shiftTime(from, lengthOf(1, 'minute'));
  if (fraction === undefined) return shiftTime(from, lengthOf(1, 'second'));
  const micros = Number(from.slice(20)) + 10 ** (6 - fraction.length);
  if (micros < 1_000_000) return `${from.slice(0, 20)}${String(micros).padStart(6, '0')}`;
  return shiftTime(`${from.slice(0, 20)}000000`, lengthOf(1, 'second'));
}

/** What a range that is no phrase must be, for messages. */
export const rangeHint = 'Write ["2024-01-01", "2024-01-31"], "2024-01-31", "last 7 days" or "from 7 days ago to now".';

/** A pair of times, one time, or a phrase, as a range; null when it is none of these, or ends before it begins. */
export function readDateRange(given: string | readonly string[], clock: RangeClock): DateRange | null {
  const [first, last = first, more] = typeof given === 'string' ? [given] : given;
  if (first === undefined || last === undefined || more !== undefined) return null;
  const texts = [first.trim(), last.trim()] as const;
  const [from, until] = [readMoment(texts[0]), readMoment(texts[1])];
  if (from !== null && until !== null) {
    const range = { from: from.from, until: until.until };
    return localOf(range.from, clock) < localOf(range.until, clock) ? range : null;
  }
  return texts[0] === texts[1] ? readPhrase(texts[0].toLowerCase().replaceAll(/\s+/g, ' '), clock) : null;
}

/** A bound as the wall clock in the query's zone shows it. */
const localOf = (bound: string, { timezone }: RangeClock): string =>
  bound.endsWith('Z') ? toLocal(bound.slice(0, -1), timezone) : bound;

const toLocal = (time: string, timezone: string): string => (timezone === 'UTC' ? time : utcToLocal(time, timezone));

/** The range as clients of Cube's API expect it back: its first and its last millisecond, local, `2024-01-01T00:00:00.000`. */
export function inclusiveRange(range: DateRange, clock: RangeClock): readonly [string, string] {
  return [asIso(localOf(range.from, clock)), asIso(microBefore(localOf(range.until, clock)))];
}

function microBefore(time: string): string {
  const micros = Number(time.slice(20));
  if (micros > 0) return `${time.slice(0, 20)}${String(micros - 1).padStart(6, '0')}`;
  return `${(shiftTime(time, lengthOf(-1, 'second')) ?? time).slice(0, 20)}999999`;
}

const asIso = (time: string): string => `${time.slice(0, 10)}T${time.slice(11, 23)}`;

const unitNames = granularities.join('|');
const around = new RegExp(`^(this|last|next) (?:(\\d{1,6}) )?(${unitNames})s?$`);
const apart = new RegExp(`^(\\d{1,6}) (${unitNames})s? (ago|from now)$`);

function readPhrase(phrase: string, clock: RangeClock): DateRange | null {
  const { timezone } = clock;
  const now = toLocal(`${clock.now.toISOString().slice(0, 23).replace('T', ' ')}000`, timezone);
  const units = (unit: Granularity, first: number, behind: number): DateRange | null => {
    const start = truncateTime(unit, now);
    const from = moved(start, lengthOf(first, unit), timezone);
    const until = moved(start, lengthOf(behind, unit), timezone);
    return from === null || until === null ? null : { from, until };
  };
  if (phrase === 'now') return units('second', 0, 1);
  if (phrase === 'today') return units('day', 0, 1);
  if (phrase === 'yesterday') return units('day', -1, 0);
  if (phrase === 'tomorrow') return units('day', 1, 2);
  const match = around.exec(phrase);
  const unit = granularities.find((it) => it === match?.[3]);
  if (match !== null && unit !== undefined) {
    const [, direction, written] = match;
    const count = Number(written ?? 1);
    if (count < 1 || count > unitsMax) return null;
    if (direction === 'this') return written === undefined ? units(unit, 0, 1) : null;
    return direction === 'last' ? units(unit, -count, 0) : units(unit, 1, count + 1);
  }
  const [, first, last] = /^from (.+) to (.+)$/.exec(phrase) ?? [];
  if (first === undefined || last === undefined) return null;
  // Whole days, unless something smaller is named.
  const grain = (['second', 'minute', 'hour'] as const).find((it) => phrase.includes(it)) ?? 'day';
  const begin = readPoint(first, now, timezone);
  const end = readPoint(last, now, timezone);
  if (begin === null || end === null) return null;
  const from = truncateTime(grain, begin);
  const until = moved(truncateTime(grain, end), lengthOf(1, grain), timezone);
  return from === null || until === null || from >= until ? null : { from, until };
}

/** One end of `from … to …`, local. */
function readPoint(text: string, now: string, timezone: string): string | null {
  if (text === 'now') return now;
  const days = { yesterday: -1, today: 0, tomorrow: 1 }[text];
  if (days !== undefined) return shiftTime(now, lengthOf(days, 'day'));
  const [, count, name, direction] = apart.exec(text) ?? [];
  const unit = granularities.find((it) => it === name);
  if (unit !== undefined && Number(count) <= unitsMax) {
    return moved(now, lengthOf((direction === 'ago' ? -1 : 1) * Number(count), unit), timezone);
  }
  const moment = readMoment(text.toUpperCase());
  return moment === null || moment.from.endsWith('Z') ? null : moment.from;
}

/** A local time moved: days and longer by the calendar, less by the clock, of which a day may have 23 or 25 hours. */
function moved(local: string | null, by: Interval, timezone: string): string | null {
  if (local === null || by.seconds === 0 || timezone === 'UTC') return local === null ? null : shiftTime(local, by);
  const later = shiftTime(localToUtc(local, timezone), by);
  return later === null ? null : utcToLocal(later, timezone);
}
