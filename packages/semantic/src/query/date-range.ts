/**
 * Ranges of time as the JSON query writes them: days, times, and phrases such as `last 7 days`. Wall clocks of the query's zone, whole
 * weeks from Monday. A range's end is meant with all that it is written with (`2024-01-31`: the whole day), and comes out half-open.
 */
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

const unitByLength: ReadonlyMap<number, Granularity> = new Map([
  [4, 'year'],
  [7, 'month'],
]);

/** The times that are meant by one text, `2024`, `2024-01`, `2024-01-31` or `2024-01-31T13:45`; null when it is no time of the calendar. */
export function readMoment(text: string): DateRange | null {
  const unit = /^\d{4}(?:-\d{2})?$/.test(text) ? unitByLength.get(text.length) : undefined;
  if (unit !== undefined) {
    const begin = parseTime(`${text}${'-01-01'.slice(text.length - 4)}`);
    return begin === null ? null : { from: begin, until: shiftTime(begin, lengthOf(1, unit)) ?? lastTime };
  }
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
export const rangeHint = 'Write ["2024-01-01", "2024-01-31"], "2024-01", "last 7 days" or "from 2024-01-01 to now".';

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

function readPhrase(phrase: string, { now: date, timezone }: RangeClock): DateRange | null {
  const now = `${date.toISOString().slice(0, 23).replace('T', ' ')}000`;
  const units = (unit: Granularity, first: number, behind: number): DateRange | null => {
    const begin = beginOf(unit, now, timezone);
    return rangeOf(begin && shifted(begin, first, unit), begin && shifted(begin, behind, unit), timezone);
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
  const [begin, end] = [first, last].map((text) => {
    const point = readPoint(text, now, timezone);
    return point === null ? null : beginOf(grain, point, timezone);
  });
  return rangeOf(begin ?? null, end ? shifted(end, 1, grain) : null, timezone);
}

/** One end of `from … to …`, in UTC. */
function readPoint(text: string, now: string, timezone: string): string | null {
  if (text === 'now') return now;
  const days = { yesterday: -1, today: 0, tomorrow: 1 }[text];
  const [, count, name, direction] = apart.exec(text) ?? [];
  const unit = days === undefined ? granularities.find((it) => it === name) : 'day';
  if (unit !== undefined) {
    const units = days ?? (direction === 'ago' ? -1 : 1) * Number(count);
    if (Math.abs(units) > unitsMax) return null;
    const point = shifted(pointIn(unit, now, timezone), units, unit);
    return point === null ? null : toUtc(point, timezone);
  }
  // Whole days are counted from here and to here: a month or a year would end on its first one.
  const moment = text.length < 10 ? null : readMoment(text.toUpperCase());
  return moment === null || moment.from.endsWith('Z') ? null : toUtc({ time: moment.from, isLocal: true }, timezone);
}

/** A time of the wall clock, where days and longer are counted, or in UTC: less is counted by the clock, of which a day may have 23 or 25 hours. */
interface Point {
  readonly time: string;
  readonly isLocal: boolean;
}

const isClockUnit = (unit: Granularity): boolean => lengthOf(1, unit).seconds !== 0;

/** A time in UTC as units of that size are counted. */
const pointIn = (unit: Granularity, time: string, timezone: string): Point =>
  isClockUnit(unit) ? { time, isLocal: false } : { time: toLocal(time, timezone), isLocal: true };

const toUtc = ({ time, isLocal }: Point, timezone: string): string =>
  isLocal && timezone !== 'UTC' ? localToUtc(time, timezone) : time;

function shifted({ time, isLocal }: Point, count: number, unit: Granularity): Point | null {
  const later = shiftTime(time, lengthOf(count, unit));
  return later === null ? null : { time: later, isLocal };
}

/** The beginning of the unit, of the wall clock, that a time in UTC lies in. Of an hour that is there twice it is the one that is meant. */
function beginOf(unit: Granularity, time: string, timezone: string): Point | null {
  const local = toLocal(time, timezone);
  const begin = truncateTime(unit, local);
  if (begin === null || !isClockUnit(unit)) return begin === null ? null : { time: begin, isLocal: true };
  const second = truncateTime('second', time);
  const before = (ms(local) - ms(begin)) / 1000;
  return second === null ? null : shifted({ time: second, isLocal: false }, -before, 'second');
}

const ms = (time: string): number => Date.parse(`${time.slice(0, 19).replace(' ', 'T')}Z`);

/** From one point to before another; null when there is nothing between them. */
function rangeOf(from: Point | null, until: Point | null, timezone: string): DateRange | null {
  if (from === null || until === null || from.time >= until.time) return null;
  return { from: boundOf(from, timezone), until: boundOf(until, timezone) };
}

/** On the wall clock, unless that shows the same twice and means the earlier then. */
function boundOf({ time, isLocal }: Point, timezone: string): string {
  if (isLocal || timezone === 'UTC') return time;
  const local = utcToLocal(time, timezone);
  return localToUtc(local, timezone) === time ? local : `${time}Z`;
}
