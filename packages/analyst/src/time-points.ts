/** Reads one named piece of the calendar at a place in a question: a year, quarter, month or day. */

import { dayOf, monthNames, type Period, partsOf, unitAround, unitLabel } from './calendar.ts';
import { readUnit } from './lexicon.ts';
import type { Token } from './tokens.ts';

/** A piece of the calendar; `year` is absent when the words name none ("March"). `day` is 1–31. */
export type Point =
  | { readonly kind: 'period'; readonly period: Period }
  | { readonly kind: 'months'; readonly year?: number; readonly month: number; readonly count: 1 | 3 | 6 }
  | { readonly kind: 'day'; readonly year?: number; readonly month: number; readonly day: number };

/** A point and how many tokens it takes; `isWeak`: a month name that could be another word ("may"). */
export interface PointAt {
  readonly point: Point;
  readonly length: number;
  readonly isWeak: boolean;
}

const relativeOffsets: ReadonlyMap<string, number> = new Map([
  ['this', 0],
  ['current', 0],
  ['last', -1],
  ['previous', -1],
  ['past', -1],
  ['prior', -1],
]);

const ordinals = ['first', 'second', 'third', 'fourth'];

/** The point whose words begin at token `at`, the longest reading; undefined when there is none. */
export function readPoint(tokens: readonly Token[], at: number, today: string): PointAt | undefined {
  const word = tokens[at]?.word;
  if (word === undefined) return undefined;
  if (/^\d{4}-/.test(word)) return readIsoDate(word);
  return (
    readRelative(tokens, at, today) ??
    readSpanOfMonths(tokens, at) ??
    readMonth(tokens, at) ??
    readDayFirst(tokens, at) ??
    readYearFirst(tokens, at)
  );
}

/**
 * The days of a point. A point without a year takes `year`; without that, the latest one that has begun by `today`.
 * Undefined for a day that does not exist, such as 30 February.
 */
export function periodOf(point: Point, today: string, year?: number): Period | undefined {
  if (point.kind === 'period') return point.period;
  const chosen = point.year ?? year;
  if (chosen === undefined) {
    const thisYear = partsOf(today)?.year;
    if (thisYear === undefined) return undefined;
    const candidate = periodOf(point, today, thisYear);
    return candidate !== undefined && candidate.from <= today ? candidate : periodOf(point, today, thisYear - 1);
  }
  if (point.kind === 'day') {
    const from = `${chosen}-${pad(point.month)}-${pad(point.day)}`;
    return partsOf(from) === undefined ? undefined : unitAround(from, 'day', 0);
  }
  const from = dayOf(chosen, point.month, 1);
  const to = dayOf(chosen, point.month + point.count, 1);
  if (point.count === 1) return { from, to, label: unitLabel(from, 'month') };
  if (point.count === 3) return { from, to, label: unitLabel(from, 'quarter') };
  return { from, to, label: `${point.month === 1 ? 'first' : 'second'} half of ${chosen}` };
}

/** The year that a point names, if it names one. */
export function yearOf(point: Point): number | undefined {
  return point.kind === 'period' ? partsOf(point.period.from)?.year : point.year;
}

/** A year in four digits, 1900–2100. */
export function readYear(token: Token | undefined): number | undefined {
  const year = token !== undefined && /^\d{4}$/.test(token.word) ? Number(token.word) : Number.NaN;
  return year >= 1900 && year <= 2100 ? year : undefined;
}

function readIsoDate(word: string): PointAt | undefined {
  const day = word.length === 7 ? `${word}-01` : word;
  const year = partsOf(day)?.year;
  if (year === undefined || year < 1900 || year > 2100) return undefined;
  const period = unitAround(day, word.length === 7 ? 'month' : 'day', 0);
  return period === undefined ? undefined : { point: { kind: 'period', period }, length: 1, isWeak: false };
}

// today, yesterday, "this month", "last quarter", "this December"; "last 30 days" is a range and is read elsewhere.
function readRelative(tokens: readonly Token[], at: number, today: string): PointAt | undefined {
  const word = tokens[at]?.word ?? '';
  if (word === 'today' || word === 'yesterday') {
    const period = unitAround(today, 'day', word === 'today' ? 0 : -1);
    if (period === undefined) return undefined;
    return { point: labelled(period, `${word} (${period.label})`), length: 1, isWeak: false };
  }
  const thisYear = partsOf(today)?.year;
  const named = word === 'this' ? (readSpanOfMonths(tokens, at + 1) ?? readMonth(tokens, at + 1)) : undefined;
  if (named !== undefined && named.point.kind !== 'period' && thisYear !== undefined) {
    return { point: { year: thisYear, ...named.point }, length: named.length + 1, isWeak: false };
  }
  const offset = relativeOffsets.get(word);
  const unit = tokens[at + 1];
  const grain = unit === undefined || unit.word !== unit.stem ? undefined : readUnit(unit);
  if (offset === undefined || grain === undefined) return undefined;
  const period = unitAround(today, grain, offset);
  if (period === undefined) return undefined;
  const label = `${offset === 0 ? 'this' : 'last'} ${grain} (${period.label})`;
  return { point: labelled(period, label), length: 2, isWeak: false };
}

// "Q3 2024", "third quarter of 2024", "H1 2024", "first half 2024", each with or without the year.
function readSpanOfMonths(tokens: readonly Token[], at: number): PointAt | undefined {
  const word = tokens[at]?.word ?? '';
  const short = /^(?:q([1-4])|h([12]))$/.exec(word);
  const unit = tokens[at + 1]?.word;
  const ordinal = ordinals.indexOf(word) + 1;
  let month: number;
  let count: 3 | 6;
  let length = 1;
  if (short !== null) {
    count = short[1] === undefined ? 6 : 3;
    month = (Number(short[1] ?? short[2]) - 1) * count + 1;
  } else if (ordinal > 0 && (unit === 'quarter' || (unit === 'half' && ordinal <= 2))) {
    count = unit === 'quarter' ? 3 : 6;
    month = (ordinal - 1) * count + 1;
    length = 2;
  } else return undefined;
  return withYear(tokens, at, length, { kind: 'months', month, count }, false);
}

// "March", "March 2025", "March of 2025", "March 5", "March 5th, 2025".
function readMonth(tokens: readonly Token[], at: number): PointAt | undefined {
  const word = tokens[at]?.word ?? '';
  const month = monthNumber(word);
  if (month === undefined) return undefined;
  const day = dayNumber(tokens[at + 1]);
  if (day !== undefined) return withYear(tokens, at, 2, { kind: 'day', month, day }, false);
  return withYear(
    tokens,
    at,
    1,
    { kind: 'months', month, count: 1 },
    ['may', 'march', 'mar', 'jan', 'dec'].includes(word),
  );
}

// "5 March 2025", "5th of March".
function readDayFirst(tokens: readonly Token[], at: number): PointAt | undefined {
  const day = dayNumber(tokens[at]);
  const length = tokens[at + 1]?.word === 'of' ? 2 : 1;
  const month = monthNumber(tokens[at + length]?.word ?? '');
  if (day === undefined || month === undefined) return undefined;
  return withYear(tokens, at, length + 1, { kind: 'day', month, day }, false);
}

// "2024", "2024 Q3", "2024-Q3".
function readYearFirst(tokens: readonly Token[], at: number): PointAt | undefined {
  const year = readYear(tokens[at]);
  if (year === undefined) return undefined;
  const next = at + (tokens[at + 1]?.word === '-' ? 2 : 1);
  const quarter = /^q([1-4])$/.exec(tokens[next]?.word ?? '')?.[1];
  if (quarter !== undefined) {
    const point: Point = { kind: 'months', year, month: Number(quarter) * 3 - 2, count: 3 };
    return { point, length: next - at + 1, isWeak: false };
  }
  const period = unitAround(`${year}-01-01`, 'year', 0);
  return period === undefined ? undefined : { point: { kind: 'period', period }, length: 1, isWeak: false };
}

// Adds the year that follows, after "of", a comma, a hyphen or nothing.
function withYear(
  tokens: readonly Token[],
  at: number,
  length: number,
  point: Exclude<Point, { kind: 'period' }>,
  isWeak: boolean,
): PointAt {
  const joiner = ['of', ',', '-'].includes(tokens[at + length]?.word ?? '') ? 1 : 0;
  const year = readYear(tokens[at + length + joiner]);
  if (year === undefined) return { point, length, isWeak };
  return { point: { ...point, year }, length: length + joiner + 1, isWeak: false };
}

function labelled(period: Period, label: string): Point {
  return { kind: 'period', period: { ...period, label } };
}

function monthNumber(word: string): number | undefined {
  const isShort = word.length === 3 || word === 'sept';
  const index = monthNames.findIndex((name) => {
    const lower = name.toLowerCase();
    return lower === word || (isShort && lower.startsWith(word));
  });
  return index < 0 ? undefined : index + 1;
}

function dayNumber(token: Token | undefined): number | undefined {
  const digits = /^(\d{1,2})(?:st|nd|rd|th)?$/.exec(token?.word ?? '')?.[1];
  const day = digits === undefined ? undefined : Number(digits);
  return day !== undefined && day >= 1 && day <= 31 ? day : undefined;
}

function pad(value: number): string {
  return String(value).padStart(2, '0');
}
