/**
 * Values of engines → cells of the wire (chat-stream.md: numbers where exact, else strings; times as ISO 8601). Pure, and the
 * one place that decides it, so that equal values of different engines are equal cells.
 */
import type { Cell } from '@inlay/contract/chat.ts';

/** A double holds so many significant digits of any decimal number. */
const exactDigits = 15;

/** A whole number; beyond ±(2^53 − 1) its digits as text. */
export function integerCell(value: bigint): Cell {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value.toString();
}

/** As {@link integerCell}, from decimal digits. */
export function integerTextCell(text: string): Cell {
  return text.length <= exactDigits ? Number(text) : integerCell(BigInt(text));
}

/** A number as it is; null where JSON has none: not a number, infinite. */
export function doubleCell(value: number): Cell {
  // Minus zero would be 0 in JSON anyway.
  return Number.isFinite(value) ? value + 0 : null;
}

/** `unscaled` / 10^`scale`: a number where a double has all its digits, else text without zeros at the end. */
export function decimalCell(unscaled: bigint, scale: number): Cell {
  const number = Number(unscaled);
  // Both are exact, so that the quotient is the double nearest to the decimal.
  if (Math.abs(number) < 1e15 && scale <= 22) return number / 10 ** scale + 0;
  const digits = unscaled
    .toString()
    .replace('-', '')
    .padStart(scale + 1, '0');
  const point = digits.length - scale;
  const sign = unscaled < 0n ? '-' : '';
  return decimalTextCell(scale === 0 ? sign + digits : `${sign}${digits.slice(0, point)}.${digits.slice(point)}`);
}

/** As {@link decimalCell}, from decimal text (`-12.50`); null for `NaN` and infinities. */
export function decimalTextCell(text: string): Cell {
  const parts = /^(-?)0*(\d*?)(?:\.(\d*?)0*)?$/.exec(text);
  if (parts === null) return null;
  const [, sign = '', whole = '', fraction = ''] = parts;
  const significant = (whole + fraction).replace(/^0+/, '').replace(/0+$/, '');
  if (significant === '') return 0;
  if (significant.length <= exactDigits && whole.length < 300 && fraction.length < 300) return Number(text);
  return `${sign}${whole === '' ? '0' : whole}${fraction === '' ? '' : `.${fraction}`}`;
}

/** `2024-01-31`, of days since 1970; null for what is no day (infinity). */
export function dateCell(days: number): Cell {
  return dayText(days);
}

/** `2024-01-31T13:45:00.000`, of microseconds since 1970 in UTC; six digits where three do not hold it; null for infinity. */
export function timestampCell(micros: bigint): Cell {
  if (micros >= infinityMicros || micros <= -infinityMicros) return null;
  const isNegative = micros < 0n;
  const positive = isNegative ? -micros : micros;
  // 64 bits of microseconds have up to 19 digits; a double has them apart, as milliseconds and the rest.
  let milliseconds = Number(positive / 1000n);
  let rest = Number(positive % 1000n);
  if (isNegative) {
    milliseconds = rest === 0 ? -milliseconds : -milliseconds - 1;
    rest = rest === 0 ? 0 : 1000 - rest;
  }
  const days = Math.floor(milliseconds / dayMs);
  const day = dayText(days);
  if (day === null) return null;
  const ofDay = milliseconds - days * dayMs;
  const seconds = Math.floor(ofDay / 1000);
  const text = `${day}T${two(Math.floor(seconds / 3600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}.${three(ofDay % 1000)}`;
  return rest === 0 ? text : text + three(rest);
}

/** PostgreSQL's and ClickHouse's text of a date or of a time in UTC → as above. Finer than microseconds is cut off. */
export function timeTextCell(text: string): Cell {
  const parts = /^(\d{4,6})-(\d\d)-(\d\d)(?:[ T](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(?:Z|\+00(?::00)?)?)?( BC)?$/.exec(
    text,
  );
  if (parts === null) return null;
  const [, year = '', month = '', day = '', time, fraction = '', isBefore] = parts;
  const date = `${yearText(isBefore === undefined ? Number(year) : 1 - Number(year))}-${month}-${day}`;
  if (time === undefined) return date;
  const micros = fraction.padEnd(6, '0').slice(0, 6);
  return `${date}T${time}.${micros.endsWith('000') ? micros.slice(0, 3) : micros}`;
}

const dayMs = 86_400_000;
const infinityMicros = 2n ** 63n - 1n;
const two = (value: number): string => (value < 10 ? `0${value}` : String(value));
const three = (value: number): string => String(value).padStart(3, '0');

/** ISO 8601: four digits, or a sign and six. */
function yearText(year: number): string {
  if (year >= 0 && year <= 9999) return String(year).padStart(4, '0');
  return `${year < 0 ? '-' : '+'}${String(Math.abs(year)).padStart(6, '0')}`;
}

/** Results have few different days: a text once made is kept, for as many as fit. */
const dayTexts = new Map<number, string>();
const dayTextsMax = 4096;

function dayText(days: number): string | null {
  const known = dayTexts.get(days);
  if (known !== undefined) return known;
  const date = new Date(days * dayMs);
  // DuckDB knows years that no Date has.
  if (Number.isNaN(date.getTime())) return null;
  const iso = date.toISOString();
  const made = iso.slice(0, iso.indexOf('T'));
  if (dayTexts.size >= dayTextsMax) dayTexts.clear();
  dayTexts.set(days, made);
  return made;
}
