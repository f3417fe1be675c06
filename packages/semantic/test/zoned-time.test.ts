import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { localToUtc, timeZoneNamed, utcToLocal } from '../src/query/zoned-time.ts';

test.each([
  ['europe/berlin', 'Europe/Berlin'],
  ['UTC', 'UTC'],
  ['utc', 'UTC'],
  ['America/Argentina/Buenos_Aires', 'America/Argentina/Buenos_Aires'],
  ['+02:00', null],
  ['Europe/Atlantis', null],
  ["Europe/Berlin'; DROP", null],
  ['', null],
  ['constructor', null],
  ['A'.repeat(65), null],
])('the zone %s is %s', (name, expected) => {
  expect(timeZoneNamed(name)).toBe(expected);
});

test.each([
  ['an ordinary time', '2024-07-01 00:00:00.000000', 'Europe/Berlin', '2024-06-30 22:00:00.000000'],
  ['microseconds stay', '2024-01-31 23:30:00.123456', 'America/New_York', '2024-02-01 04:30:00.123456'],
  ['UTC is UTC', '2024-03-31 02:30:00.000001', 'UTC', '2024-03-31 02:30:00.000001'],
  [
    'in a gap: the first instant behind it',
    '2024-03-31 02:30:00.500000',
    'Europe/Berlin',
    '2024-03-31 01:00:00.000000',
  ],
  ['the beginning of a gap', '2024-03-31 02:00:00.000000', 'Europe/Berlin', '2024-03-31 01:00:00.000000'],
  ['behind a gap', '2024-03-31 03:00:00.000000', 'Europe/Berlin', '2024-03-31 01:00:00.000000'],
  ['what exists twice: the earlier', '2024-10-27 02:30:00.000000', 'Europe/Berlin', '2024-10-27 00:30:00.000000'],
  ['a day without a midnight', '2018-11-04 00:00:00.000000', 'America/Sao_Paulo', '2018-11-04 03:00:00.000000'],
  ['a day with two midnights', '2024-11-03 00:00:00.000000', 'America/Havana', '2024-11-03 04:00:00.000000'],
  ['a day that was left out', '2011-12-30 12:00:00.000000', 'Pacific/Apia', '2011-12-30 10:00:00.000000'],
  ['half an hour', '2024-04-07 01:45:00.000000', 'Australia/Lord_Howe', '2024-04-06 14:45:00.000000'],
  ['the first year', '0001-01-01 12:00:00.000000', 'Asia/Kathmandu', '0001-01-01 06:18:44.000000'],
  ['beyond the last year', '9999-12-31 23:30:00.000000', 'America/Los_Angeles', '9999-12-31 23:59:59.000000'],
])('%s', (_, local, zone, utc) => {
  expect(localToUtc(local, zone)).toBe(utc);
});

const zones = fc.constantFrom(
  'Europe/Berlin',
  'America/New_York',
  'America/Sao_Paulo',
  'Australia/Lord_Howe',
  'Asia/Kolkata',
  'Africa/Casablanca',
  'Pacific/Apia',
);
const instant = fc
  .integer({ min: Date.UTC(1971, 0) / 1000, max: Date.UTC(2037, 0) / 1000 })
  .map((seconds) => `${new Date(seconds * 1000).toISOString().slice(0, 19).replace('T', ' ')}.250000`);

describe('wall clocks and instants', () => {
  test('what a clock shows is read as that instant, or as the earlier one at which it showed the same', () => {
    fc.assert(
      fc.property(instant, zones, (utc, zone) => {
        const local = utcToLocal(utc, zone);
        const back = localToUtc(local, zone);
        expect(utcToLocal(back, zone)).toBe(local);
        expect(back <= utc).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  test('instants are ordered as the wall clocks are: a range of wall clocks is one range of instants', () => {
    fc.assert(
      fc.property(instant, instant, zones, (one, other, zone) => {
        const [low = '', high = ''] = [one, other].sort();
        expect(localToUtc(low, zone) <= localToUtc(high, zone)).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });
});
