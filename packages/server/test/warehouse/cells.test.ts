/** Values → cells, by properties: what comes out means what went in, and the two ways of writing a value meet. */
import { assert, bigInt, integer, property } from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  dateCell,
  decimalCell,
  decimalTextCell,
  doubleCell,
  integerCell,
  integerTextCell,
  timestampCell,
  timeTextCell,
} from '../../src/warehouse/cells.ts';

const wide = bigInt({ min: -(10n ** 38n), max: 10n ** 38n });

test('a whole number keeps every digit, as bigint and as text', () => {
  assert(
    property(wide, (value) => {
      const cell = integerCell(value);
      expect(BigInt(cell ?? '')).toBe(value);
      expect(integerTextCell(value.toString())).toBe(cell);
      expect(typeof cell).toBe(value > -(2n ** 53n) && value < 2n ** 53n ? 'number' : 'string');
    }),
  );
});

test('a decimal keeps every digit, and is the same from its parts and from its text', () => {
  const textOf = (unscaled: bigint, scale: number): string => {
    const digits = (unscaled < 0n ? -unscaled : unscaled).toString().padStart(scale + 1, '0');
    const point = digits.length - scale;
    return `${unscaled < 0n ? '-' : ''}${digits.slice(0, point)}${scale === 0 ? '' : `.${digits.slice(point)}`}`;
  };
  assert(
    property(wide, integer({ min: 0, max: 30 }), (unscaled, scale) => {
      const text = textOf(unscaled, scale);
      const cell = decimalCell(unscaled, scale);
      expect(decimalTextCell(text)).toBe(cell);
      if (typeof cell === 'number') expect(cell).toBe(Number(text) + 0);
      else
        expect(`${cell}`.replace(/^(-?)0\./, '$1.')).toBe(
          text
            .replace(/(\.\d*?)0+$/, '$1')
            .replace(/\.$/, '')
            .replace(/^(-?)0\./, '$1.'),
        );
    }),
  );
});

test('an instant keeps its microseconds, and is the same from its number and from its text', () => {
  const range = { min: -62_135_596_800_000_000n, max: 253_402_300_799_999_999n };
  assert(
    property(bigInt(range), (micros) => {
      const text = String(timestampCell(micros));
      const rest = ((micros % 1000n) + 1000n) % 1000n;
      expect(new Date(`${text.slice(0, 23)}Z`).getTime()).toBe(Number((micros - rest) / 1000n));
      expect(text.slice(23)).toBe(rest === 0n ? '' : rest.toString().padStart(3, '0'));
      expect(timeTextCell(text.replace('T', ' '))).toBe(text);
    }),
  );
});

describe('at the edges', () => {
  test.each<[string, unknown, unknown]>([
    ['minus zero', doubleCell(-0), 0],
    ['not a number', doubleCell(Number.NaN), null],
    ['infinity', doubleCell(Number.NEGATIVE_INFINITY), null],
    ['a decimal that is not one', decimalTextCell('NaN'), null],
    ['an infinite decimal', decimalTextCell('-Infinity'), null],
    ['a decimal zero with a sign', decimalTextCell('-0.00'), 0],
    ['zeros at the end', decimalTextCell('12.500000000000000000'), 12.5],
    ['a whole decimal with many zeros', decimalTextCell('1000000000000000000'), 1e18],
    ['the end of time', timestampCell(2n ** 63n - 1n), null],
    ['its beginning', timestampCell(-(2n ** 63n - 1n)), null],
    ['an infinite date', timeTextCell('infinity'), null],
    ['a date before the common era', timeTextCell('0044-03-15 BC'), '-000043-03-15'],
    ['a date far away', timeTextCell('12345-01-01'), '+012345-01-01'],
    ['a time with its zone', timeTextCell('2024-01-31 21:30:00.12+00'), '2024-01-31T21:30:00.120'],
    ['a time finer than microseconds', timeTextCell('2024-01-31T21:30:00.123456789Z'), '2024-01-31T21:30:00.123456'],
    ['the first day', dateCell(0), '1970-01-01'],
  ])('%s', (_name, cell, expected) => {
    expect(cell).toBe(expected);
  });
});
