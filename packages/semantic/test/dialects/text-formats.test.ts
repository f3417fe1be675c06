import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readNumber, timeFormat, wholeFormat, wholeNumberOf } from '../../src/dialects/text-formats.ts';
import { parseTime } from '../../src/parse-time.ts';

const pad = (value: number, length = 2): string => String(value).padStart(length, '0');
const part = (max: number): fc.Arbitrary<string> => fc.integer({ min: 0, max }).map((value) => pad(value));
const times = fc
  .tuple(
    fc.oneof(fc.integer({ min: 1000, max: 9999 }), fc.constantFrom(1900, 2000, 2004, 2100, 2400)),
    part(13),
    part(32),
    fc.constantFrom('', ' ', 'T'),
    part(25),
    part(61),
    fc.option(fc.tuple(part(61), fc.constantFrom('', '.', '.5', '.123456', '.1234567')), { nil: null }),
    fc.constantFrom('', 'Z', '+00', '+00:00', '-0000', '+01:00', ' '),
  )
  .map(([year, month, day, gap, hour, minute, second, zone]) => {
    const date = `${year}-${month}-${day}`;
    if (gap === '') return date;
    return `${date}${gap}${hour}:${minute}${second === null ? '' : `:${second.join('')}`}${zone}`;
  });

test('the format of times takes exactly what is a time of the calendar', () => {
  const format = new RegExp(timeFormat);
  fc.assert(
    fc.property(times, (text) => {
      const read = format.exec(text)?.[1];
      // What is cut off says UTC: the rest is the same time.
      expect(read === undefined ? null : parseTime(read)).toBe(parseTime(text));
    }),
    { numRuns: 5000 },
  );
});

test('the format of whole numbers takes exactly those of 64 bits', () => {
  const format = new RegExp(wholeFormat);
  const largest = 2n ** 63n - 1n;
  const number = fc.oneof(
    fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }),
    fc.bigInt({ min: largest - 2000n, max: largest + 2000n }),
  );
  fc.assert(
    fc.property(number, (value) => {
      expect(format.test(` ${value}`)).toBe(value <= largest && value >= -largest);
    }),
    { numRuns: 5000 },
  );
});

test.each([
  ['0', 'whole', '0'],
  ['007', 'whole', '7'],
  ['1.50', 'decimal', '1.5'],
  ['2.00', 'whole', '2'],
  ['.5', 'decimal', '0.5'],
  ['999999999999999999', 'whole', '999999999999999999'],
  ['9223372036854775807', 'whole', '9223372036854775807'],
  ['9223372036854775808', 'double', '9.223372036854776e+18'],
  ['1000000000000000000.5', 'double', '1e+18'],
  ['0.123456789', 'decimal', '0.123456789'],
  ['0.0000000001', 'double', '1e-10'],
])('the number %s is a %s', (text, kind, written) => {
  expect(readNumber(text)).toEqual({ kind, text: written });
});

test.each([
  ['7', 7],
  ['(-7)', -7],
  ['1234567890', null],
  ['a', null],
  ['7 OR 1=1', null],
])('the whole number that %s is', (sql, value) => {
  expect(wholeNumberOf(sql)).toBe(value);
});
