/** Ranges of time as people and clients write them. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { inclusiveRange, readDateRange, readMoment } from '../../src/query/date-range.ts';
import { localToUtc } from '../../src/query/zoned-time.ts';

/** A Friday. */
const now = new Date('2024-03-15T10:20:30.500Z');
const utc = { now, timezone: 'UTC' };

describe('a time is meant with all that it is written with', () => {
  test.each([
    ['2024-01-31', '2024-01-31 00:00:00.000000', '2024-02-01 00:00:00.000000'],
    ['2024-02-29', '2024-02-29 00:00:00.000000', '2024-03-01 00:00:00.000000'],
    ['2024-01-31T13:45', '2024-01-31 13:45:00.000000', '2024-01-31 13:46:00.000000'],
    ['2024-01-31 13:45:59', '2024-01-31 13:45:59.000000', '2024-01-31 13:46:00.000000'],
    ['2024-01-31T23:59:59.999', '2024-01-31 23:59:59.999000', '2024-02-01 00:00:00.000000'],
    ['2024-01-31T13:45:00.000', '2024-01-31 13:45:00.000000', '2024-01-31 13:45:00.001000'],
    ['2024-01-31T13:45:00.5', '2024-01-31 13:45:00.500000', '2024-01-31 13:45:00.600000'],
    ['2024-01-31T13:45:00.123456Z', '2024-01-31 13:45:00.123456Z', '2024-01-31 13:45:00.123457Z'],
    ['2024-02', '2024-02-01 00:00:00.000000', '2024-03-01 00:00:00.000000'],
    ['2024-12', '2024-12-01 00:00:00.000000', '2025-01-01 00:00:00.000000'],
    ['2024', '2024-01-01 00:00:00.000000', '2025-01-01 00:00:00.000000'],
    ['9999', '9999-01-01 00:00:00.000000', '9999-12-31 23:59:59.999999'],
    ['9999-12-31', '9999-12-31 00:00:00.000000', '9999-12-31 23:59:59.999999'],
  ])('%s', (text, from, until) => {
    expect(readMoment(text)).toEqual({ from, until });
  });

  test.each([
    '2024-02-30',
    '0000-01-01',
    '2024-13-01',
    '2024-13',
    '2024-00',
    '2024-1',
    '0000',
    '202',
    '20240',
    '2024-',
    '24-01-01',
    '2024-1-1',
    '',
    'now',
    '2024-01-31T25:00',
    '2024-01-31T10:00+02:00',
    '2024-01-31x',
  ])('"%s" is none', (text) => {
    expect(readMoment(text)).toBeNull();
  });
});

describe('phrases', () => {
  test.each([
    ['today', '2024-03-15', '2024-03-16'],
    ['yesterday', '2024-03-14', '2024-03-15'],
    ['Tomorrow', '2024-03-16', '2024-03-17'],
    ['now', '2024-03-15 10:20:30', '2024-03-15 10:20:31'],
    ['this week', '2024-03-11', '2024-03-18'],
    ['last week', '2024-03-04', '2024-03-11'],
    ['next week', '2024-03-18', '2024-03-25'],
    ['this month', '2024-03-01', '2024-04-01'],
    ['last month', '2024-02-01', '2024-03-01'],
    ['next month', '2024-04-01', '2024-05-01'],
    ['this quarter', '2024-01-01', '2024-04-01'],
    ['last quarter', '2023-10-01', '2024-01-01'],
    ['this year', '2024-01-01', '2025-01-01'],
    ['last  year', '2023-01-01', '2024-01-01'],
    ['last day', '2024-03-14', '2024-03-15'],
    ['last 7 days', '2024-03-08', '2024-03-15'],
    ['last 1 day', '2024-03-14', '2024-03-15'],
    ['last 12 months', '2023-03-01', '2024-03-01'],
    ['last 2 weeks', '2024-02-26', '2024-03-11'],
    ['next 3 days', '2024-03-16', '2024-03-19'],
    ['next 2 quarters', '2024-04-01', '2024-10-01'],
    ['this hour', '2024-03-15 10:00:00', '2024-03-15 11:00:00'],
    ['last 24 hours', '2024-03-14 10:00:00', '2024-03-15 10:00:00'],
    ['last 15 minutes', '2024-03-15 10:05:00', '2024-03-15 10:20:00'],
    ['from 7 days ago to now', '2024-03-08', '2024-03-16'],
    ['from 2 months ago to yesterday', '2024-01-15', '2024-03-15'],
    ['from today to 3 days from now', '2024-03-15', '2024-03-19'],
    ['from 1 hour ago to now', '2024-03-15 09:00:00', '2024-03-15 11:00:00'],
    ['from 90 minutes ago to now', '2024-03-15 08:50:00', '2024-03-15 10:21:00'],
    ['from 2024-01-10 to today', '2024-01-10', '2024-03-16'],
    ['2024-01-31', '2024-01-31', '2024-02-01'],
  ])('%s', (phrase, from, until) => {
    const whole = (text: string): string => `${text.length === 10 ? `${text} 00:00:00` : text}.000000`;
    expect(readDateRange(phrase, utc)).toEqual({ from: whole(from), until: whole(until) });
    expect(readDateRange([phrase], utc)).toEqual({ from: whole(from), until: whole(until) });
  });

  test.each([
    'last',
    'last 0 days',
    'last -1 days',
    'last 1.5 days',
    'last 1000000 days',
    'last 99999 years',
    'this 2 days',
    'previous week',
    'last fortnight',
    'from now',
    'from tomorrow to yesterday',
    'from x to y',
    'from 2024-01 to 2024-02',
    'from 2024 to now',
    "today'; DROP TABLE orders; --",
    '',
  ])('"%s" is none', (phrase) => {
    expect(readDateRange(phrase, utc)).toBeNull();
  });
});

test('a pair is from the beginning of the first to the end of the last; backwards it is none', () => {
  expect(readDateRange(['2024-01-01', '2024-01-31'], utc)).toEqual({
    from: '2024-01-01 00:00:00.000000',
    until: '2024-02-01 00:00:00.000000',
  });
  expect(readDateRange(['2024-01-31', '2024-01-01'], utc)).toBeNull();
  expect(readDateRange(['2024-01-31', '2024-01-31'], utc)).not.toBeNull();
  expect(readDateRange(['last week', 'today'], utc)).toBeNull();
  expect(readDateRange(['2024-01-01', 'now'], utc)).toBeNull();
  const months = { from: '2023-11-01 00:00:00.000000', until: '2024-03-01 00:00:00.000000' };
  expect(readDateRange(['2023-11', '2024-02'], utc)).toEqual(months);
  expect(readDateRange(['2023-11-01', '2024-02'], utc)).toEqual(months);
  expect(readDateRange([], utc)).toBeNull();
});

test('a day is that of the zone', () => {
  // In Auckland it is 23:20 of the same day, in Los Angeles 3:20, in Kiritimati the next day.
  const late = new Date('2024-03-15T11:30:00Z');
  const of = (timezone: string) => readDateRange('today', { now: late, timezone })?.from.slice(0, 10);
  expect(['America/Los_Angeles', 'Pacific/Auckland', 'Pacific/Kiritimati'].map(of)).toEqual([
    '2024-03-15',
    '2024-03-16',
    '2024-03-16',
  ]);
});

test('hours are counted by the clock: a day of 23 hours has 23', () => {
  // On 31 March 2024 the clock in Berlin goes from 2 to 3.
  const berlin = { now: new Date('2024-03-31T10:30:00Z'), timezone: 'Europe/Berlin' };
  expect(readDateRange('last 12 hours', berlin)).toEqual({
    from: '2024-03-30 23:00:00.000000',
    until: '2024-03-31 12:00:00.000000',
  });
  const today = readDateRange('today', berlin);
  const hours =
    today === null
      ? 0
      : Date.parse(`${localToUtc(today.until, 'Europe/Berlin')}Z`) -
        Date.parse(`${localToUtc(today.from, 'Europe/Berlin')}Z`);
  expect(hours / 3_600_000).toBe(23);
});

test.each(['Europe/Berlin', 'Australia/Lord_Howe', 'America/St_Johns', 'America/Havana'])(
  'of an hour that is there twice the present one is meant, in %s',
  (timezone) => {
    const utcOf = (bound: string) => (bound.endsWith('Z') ? bound.slice(0, -1) : localToUtc(bound, timezone));
    const changes = { 'Europe/Berlin': '2024-10-26T22:00Z', 'Australia/Lord_Howe': '2024-04-06T13:00Z' }[timezone];
    const begin = Date.parse(changes ?? '2024-11-03T02:00Z');
    for (let minutes = 7; minutes < 360; minutes += 10) {
      const at = new Date(begin + minutes * 60_000);
      const ends = (phrase: string) => {
        const range = readDateRange(phrase, { now: at, timezone });
        if (range === null) throw new Error(`no range: ${phrase} at ${at.toISOString()}`);
        return [range.from, range.until].map((bound) => Date.parse(`${utcOf(bound)}Z`) - at.getTime());
      };
      expect(ends('now')).toEqual([0, 1000]);
      expect(ends('last 15 minutes')).toEqual([-15 * 60_000, 0]);
      expect(ends('from 30 minutes ago to now')).toEqual([-30 * 60_000, 60_000]);
      const [from = 0, until = 0] = ends('this hour');
      expect(until - from).toBe(3_600_000);
      expect(from <= 0 && until > 0).toBe(true);
      const [first = 0, last = 0] = ends('last 2 hours');
      expect([last, last - first]).toEqual([from, 7_200_000]);
    }
  },
);

test('what clients get back is the first and the last millisecond', () => {
  const of = (from: string, until: string) => {
    const range = readDateRange([from, until], utc);
    return range === null ? null : inclusiveRange(range, utc);
  };
  expect(of('2024-01-01', '2024-01-31')).toEqual(['2024-01-01T00:00:00.000', '2024-01-31T23:59:59.999']);
  expect(of('2024-01-01T10:00', '2024-01-01T10:00')).toEqual(['2024-01-01T10:00:00.000', '2024-01-01T10:00:59.999']);
  const berlin = { now, timezone: 'Europe/Berlin' };
  const range = readDateRange(['2024-01-01T00:00:00Z', '2024-01-01T00:00:00Z'], berlin);
  expect(range === null ? null : inclusiveRange(range, berlin)).toEqual([
    '2024-01-01T01:00:00.000',
    '2024-01-01T01:00:00.999',
  ]);
});

test('what comes back, sent again, is the same range', () => {
  const unit = fc.constantFrom('day', 'week', 'month', 'quarter', 'year', 'hour', 'minute');
  const phrase = fc.oneof(
    fc.tuple(fc.constantFrom('last', 'next'), fc.integer({ min: 1, max: 500 }), unit).map((it) => `${it.join(' ')}s`),
    unit.map((it) => `this ${it}`),
    fc.tuple(fc.integer({ min: 0, max: 90 }), unit).map(([count, it]) => `from ${count} ${it}s ago to now`),
  );
  const moment = fc.date({ min: new Date('2000-01-01'), max: new Date('2040-01-01'), noInvalidDate: true });
  fc.assert(
    fc.property(phrase, moment, (text, at) => {
      const clock = { now: at, timezone: 'UTC' };
      const range = readDateRange(text, clock);
      if (range === null) throw new Error(`no range: ${text}`);
      expect(range.from < range.until).toBe(true);
      expect(readDateRange(inclusiveRange(range, clock), clock)).toEqual(range);
    }),
    { numRuns: 500 },
  );
});
