/** Reads time ranges ("in 2024", "last 30 days") and grains ("by month", "weekly") at a place in a question. */

import { addDays, dayLabel, type Grain, monthNames, type Period, partsOf, unitAround } from './calendar.ts';
import { readNumber, readUnit } from './lexicon.ts';
import { type Point, type PointAt, periodOf, readPoint, readYear, yearOf } from './time-points.ts';
import type { Token } from './tokens.ts';

/**
 * A half-open range of days: `from` is in it, `to` is not; either may be open. Both open: all time, asked for in words.
 * `label` is for people: `2024`, `March to May 2024`, `since 2023`. `isYearAssumed`: no word named the year.
 * `back`: the words count one unit back from the time of the question before, where that has one; `isOnlyBack`: they mean
 * nothing by themselves ("the year before"), so that `from` and `to` are not to be used.
 */
export interface TimeRange {
  readonly from?: string;
  readonly to?: string;
  readonly label: string;
  readonly isYearAssumed?: true;
  readonly back?: Grain;
  readonly isOnlyBack?: true;
}

/** A time phrase: a range, or the reason why its words make none. `length` counts tokens. */
export type TimePhrase =
  | { readonly range: TimeRange; readonly length: number }
  | { readonly problem: string; readonly length: number };

const adverbs: ReadonlyMap<string, Grain> = new Map([
  ['daily', 'day'],
  ['weekly', 'week'],
  ['monthly', 'month'],
  ['quarterly', 'quarter'],
  ['yearly', 'year'],
  ['annual', 'year'],
  ['annually', 'year'],
]);

const toDateWords: ReadonlyMap<string, Grain> = new Map([
  ['ytd', 'year'],
  ['qtd', 'quarter'],
  ['mtd', 'month'],
  ['wtd', 'week'],
]);

const noSuchDay = 'There is no such day in the calendar.';

const joiners = ['to', 'until', 'till', 'through', '-', '–', '—'];

/** The grain named at token `at`, alone ("monthly") or as a unit ("month"). `over time` reads as month. */
export function readGrain(
  tokens: readonly Token[],
  at: number,
): { grain: Grain; length: number; isPlural: boolean } | undefined {
  const token = tokens[at];
  if (token === undefined) return undefined;
  if (token.word === 'over' && tokens[at + 1]?.word === 'time') return { grain: 'month', length: 2, isPlural: false };
  const adverb = adverbs.get(token.word);
  if (adverb !== undefined) return { grain: adverb, length: 1, isPlural: false };
  const unit = readUnit(token);
  return unit === undefined ? undefined : { grain: unit, length: 1, isPlural: token.word !== token.stem };
}

const timeWord = new RegExp(
  `\\d{4}|^(?:[qh]\\d|today|yesterday|time|date|half|${[...adverbs.keys(), ...toDateWords.keys()].join('|')}|${monthNames
    .map((name) => name.slice(0, 3).toLowerCase())
    .join('|')})`,
);

/** True for words that say a time and nothing else: "last year", "YTD", "monthly". Whatever day it is. */
export function isTimeWords(words: readonly Token[]): boolean {
  // Most words are none: every time has one of these.
  if (!words.some((word) => timeWord.test(word.word) || readUnit(word) !== undefined)) return false;
  const length = readTimePhrase(words, 0, '2000-01-01')?.length ?? readGrain(words, 0)?.length;
  return length === words.length;
}

/** The time range whose words begin at token `at`. `today` is `YYYY-MM-DD`; relative ranges count from it. */
export function readTimePhrase(tokens: readonly Token[], at: number, today: string): TimePhrase | undefined {
  return (
    readAllTime(tokens, at) ??
    readUnitBack(tokens, at, today) ??
    readToDate(tokens, at, today) ??
    readLastUnits(tokens, at, today) ??
    readBounded(tokens, at, today) ??
    readOneSided(tokens, at, today) ??
    readNamedUnit(tokens, at, today) ??
    readBare(tokens, at, today)
  );
}

function readAllTime(tokens: readonly Token[], at: number): TimePhrase | undefined {
  return matches(tokens, at, ['all', 'time']) ? { range: { label: 'all time' }, length: 2 } : undefined;
}

// "the year before", "the previous year".
function readUnitBack(tokens: readonly Token[], at: number, today: string): TimePhrase | undefined {
  const isPrevious = ['previous', 'prior', 'preceding'].includes(tokens[at]?.word ?? '');
  const unit = tokens[isPrevious ? at + 1 : at];
  const grain = unit !== undefined && unit.word === unit.stem ? readUnit(unit) : undefined;
  const range = grain === undefined ? undefined : unitAround(today, grain, -1);
  if (grain === undefined || range === undefined) return undefined;
  const label = `last ${grain} (${range.label})`;
  if (isPrevious) return { range: { ...range, label, back: grain }, length: 2 };
  const isBefore = tokens[at + 1]?.word === 'before' && tokens[at + 2]?.isWord !== true;
  return isBefore ? { range: { label, back: grain, isOnlyBack: true }, length: 2 } : undefined;
}

// "year to date", "ytd", "month to date".
function readToDate(tokens: readonly Token[], at: number, today: string): TimePhrase | undefined {
  const short = toDateWords.get(tokens[at]?.word ?? '');
  const grain = short ?? (matches(tokens, at + 1, ['to', 'date']) ? readUnit(tokens[at]) : undefined);
  const period = grain === undefined ? undefined : unitAround(today, grain, 0);
  if (grain === undefined || period === undefined) return undefined;
  const label = `${grain} to date (${dayLabel(period.from)} to ${dayLabel(today)})`;
  return { range: { from: period.from, to: addDays(today, 1), label }, length: short === undefined ? 3 : 1 };
}

// "last 30 days": that many whole units before the present one, which is not over and so would not compare.
function readLastUnits(tokens: readonly Token[], at: number, today: string): TimePhrase | undefined {
  const number = tokens[at + 1];
  const count = number === undefined ? undefined : readNumber(number);
  const grain = readUnit(tokens[at + 2]);
  if (!['last', 'past', 'previous'].includes(tokens[at]?.word ?? '') || count === undefined || grain === undefined) {
    return undefined;
  }
  const first = count >= 1 && count <= 5000 ? unitAround(today, grain, -count) : undefined;
  const present = unitAround(today, grain, 0);
  if (first === undefined || present === undefined) {
    return { problem: `I cannot count back ${count} ${grain}s.`, length: 3 };
  }
  const words = count === 1 ? `last ${grain}` : `last ${count} ${grain}s`;
  const label = `${words} (${dayLabel(first.from)} to ${dayLabel(addDays(present.from, -1))})`;
  return { range: { from: first.from, to: present.from, label }, length: 3 };
}

// "between March and May 2024", "from 2022 to 2024", "2022-2024"; the last named unit is in the range.
function readBounded(tokens: readonly Token[], at: number, today: string): TimePhrase | undefined {
  const opening = tokens[at]?.word ?? '';
  const isBetween = opening === 'between';
  const start = isBetween || opening === 'from' ? at + 1 : at;
  const first = readPoint(tokens, start, today);
  if (first === undefined) return undefined;
  const joint = start + first.length;
  const joinerLength = matches(tokens, joint, ['up', 'to']) ? 2 : 1;
  const isJoined =
    joinerLength === 2 || (isBetween ? ['and', ...joiners] : joiners).includes(tokens[joint]?.word ?? '');
  const second = isJoined ? readPoint(tokens, joint + joinerLength, today) : undefined;
  if (second === undefined) return undefined;
  const length = joint + joinerLength + second.length - at;
  const periods = boundsOf(first.point, second.point, today);
  if (periods === undefined) return { problem: noSuchDay, length };
  const [from, to] = periods;
  if (from.from > to.from) return { problem: `${from.label} is after ${to.label}.`, length };
  const range = { from: from.from, to: to.to, label: boundsLabel(from.label, to.label) };
  return { range: yearOf(first.point) === undefined ? assuming(range, second.point) : range, length };
}

// A bound without a year takes the other's, so that "November to February 2024" begins in the year before.
function boundsOf(first: Point, second: Point, today: string): readonly [Period, Period] | undefined {
  const secondYear = yearOf(second);
  const firstYear = yearOf(first);
  let from: Period | undefined;
  let to: Period | undefined;
  if (firstYear === undefined) {
    to = periodOf(second, today);
    const year = to === undefined ? undefined : (partsOf(to.from)?.year ?? 0);
    from = year === undefined ? undefined : periodOf(first, today, year);
    if (from !== undefined && to !== undefined && from.from > to.from && year !== undefined) {
      from = periodOf(first, today, year - 1);
    }
  } else {
    from = periodOf(first, today);
    to = periodOf(second, today, secondYear ?? firstYear);
    if (from !== undefined && to !== undefined && secondYear === undefined && to.from < from.from) {
      to = periodOf(second, today, firstYear + 1);
    }
  }
  return from === undefined || to === undefined ? undefined : [from, to];
}

// "since 2023", "after 2023", "before 2023", "until March 2024", "from 2023 on".
function readOneSided(tokens: readonly Token[], at: number, today: string): TimePhrase | undefined {
  const word = tokens[at]?.word ?? '';
  const words = ['starting in', 'starting from', 'up to'].includes(`${word} ${tokens[at + 1]?.word ?? ''}`) ? 2 : 1;
  // "since the year 2023"
  const isNamed = matches(tokens, at + words, ['the', 'year']) && readYear(tokens[at + words + 2]) !== undefined;
  const opening = isNamed ? words + 2 : words;
  const second = readPoint(tokens, at + opening, today);
  if (second === undefined) return undefined;
  const period = periodOf(second.point, today);
  const length = opening + second.length;
  const after = tokens[at + length]?.word ?? '';
  const isOpen = word === 'from' && ['on', 'onward', 'onwards'].includes(after);
  if (!['since', 'starting', 'after', 'before', 'until', 'till', 'through', 'up', 'from'].includes(word))
    return undefined;
  if (word === 'up' && words === 1) return undefined;
  if (period === undefined) return { problem: noSuchDay, length };
  const { from, to, label } = period;
  const open = (range: TimeRange): TimePhrase => ({ range: assuming(range, second.point), length });
  switch (word) {
    case 'since':
    case 'starting':
      return open({ from, label: `since ${label}` });
    case 'after':
      return open({ from: to, label: `after ${label}` });
    case 'before':
      return open({ to: from, label: `before ${label}` });
    case 'from':
      if (isOpen) return { ...open({ from, label: `since ${label}` }), length: length + 1 };
      return { problem: `Do you mean "in ${label}" or "since ${label}"?`, length };
    default:
      return open({ to, label: `up to and including ${label}` });
  }
}

// "the year 2024", "the month of March 2024": the unit repeats what follows. After "by" it is a grain of its own.
function readNamedUnit(tokens: readonly Token[], at: number, today: string): TimePhrase | undefined {
  const unit = tokens[at]?.word ?? '';
  const start = tokens[at + 1]?.word === 'of' ? at + 2 : at + 1;
  const found = ['year', 'quarter', 'month'].includes(unit) ? readPoint(tokens, start, today) : undefined;
  if (found === undefined || ['by', 'per', 'each', 'every', 'and'].includes(tokens[at - 1]?.word ?? ''))
    return undefined;
  const isYear = unit === 'year' && found.length === 1 && readYear(tokens[start]) !== undefined;
  const isPart = found.point.kind === 'months' && found.point.count === { quarter: 3, month: 1 }[unit];
  const period = isYear || isPart ? periodOf(found.point, today) : undefined;
  return period === undefined ? undefined : { range: assuming(period, found.point), length: start + found.length - at };
}

function readBare(tokens: readonly Token[], at: number, today: string): TimePhrase | undefined {
  const found: PointAt | undefined = readPoint(tokens, at, today);
  if (found === undefined) return undefined;
  // "may" and "march" are also other words: alone they count as months after a preposition only.
  const before = tokens[at - 1]?.word ?? '';
  if (found.isWeak && !['in', 'for', 'of', 'during', 'within', 'on', 'and'].includes(before)) return undefined;
  const period = periodOf(found.point, today);
  if (period === undefined) return { problem: noSuchDay, length: found.length };
  return { range: assuming(period, found.point), length: found.length };
}

// Marks a range whose year is a guess from today, since the words name none.
function assuming(range: TimeRange, point: Point): TimeRange {
  return yearOf(point) === undefined ? { ...range, isYearAssumed: true } : range;
}

// "March 2024 to May 2024" reads better as "March to May 2024".
function boundsLabel(from: string, to: string): string {
  const year = / \d{4}$/.exec(to)?.[0];
  const shared = year !== undefined && from.endsWith(year) && /^\p{L}+\d? \d{4}$/u.test(from);
  return from === to ? from : `${shared ? from.slice(0, -5) : from} to ${to}`;
}

function matches(tokens: readonly Token[], at: number, words: readonly string[]): boolean {
  return words.every((word, index) => tokens[at + index]?.word === word);
}
