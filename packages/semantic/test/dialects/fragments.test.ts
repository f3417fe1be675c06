/** What the planner asks a dialect for besides expressions: aggregates, windows, buckets, series, joins, zones. The same on every engine. */
import { beforeAll, describe, expect, test } from 'vitest';
import type { Dialect } from '../../src/dialects/dialect.ts';
import type { Aggregation, Interval, MemberType } from '../../src/model/data-model.ts';
import type { WindowFunction } from '../../src/query/window.ts';
import { localToUtc, utcToLocal } from '../../src/query/zoned-time.ts';
import { SemanticError } from '../../src/semantic-error.ts';
import { createTable, engineNames, useEngine, type Value } from '../engines.ts';

const columns = {
  g: 'text',
  i: 'integer',
  l: 'bigint',
  d: 'decimal(12,2)',
  x: 'double',
  s: 'text',
  b: 'boolean',
  t: 'timestamp',
} as const;
const types: Readonly<Record<string, MemberType>> = { s: 'string', b: 'boolean', t: 'time' };
const most = 9223372036854775807n;
const rows: readonly (readonly (Value | bigint)[])[] = [
  ['a', 1, most, '0.10', 0.5, 'Z', true, '2024-01-01'],
  ['a', 2, most, '0.10', 1.5, 'a', false, '2024-02-01'],
  ['a', null, null, null, null, null, null, null],
  ['a', 2, 1, '0.10', 1, 'é', true, '2024-01-15'],
  ['b', null, null, null, null, null, null, '2024-06-01'],
  [null, 5, 5, '5.05', 5, 'x', false, '2023-01-01'],
];

/** Aggregate, column and guard; then the answers for the groups null, a and b. */
const aggregates: readonly [Aggregation, string, string | null, readonly Value[]][] = [
  ['count', 'i', null, [1, 3, 0]],
  ['count', 'i', 'i > 1', [1, 2, 0]],
  ['count_distinct', 'i', null, [1, 2, 0]],
  ['count_distinct', 's', 'i > 1', [1, 2, 0]],
  ['count_distinct', 'b', null, [1, 2, 0]],
  ['sum', 'i', null, [5, 5, null]],
  ['sum', 'i', 'i > 1', [5, 4, null]],
  ['sum', 'i', 'i > 100', [null, null, null]],
  ['sum', 'l', null, [5, '18446744073709551615', null]],
  ['sum', 'd', null, [5.05, 0.3, null]],
  ['sum', 'x', null, [5, 3, null]],
  ['avg', 'i', null, [5, 5 / 3, null]],
  ['avg', 'l', 'i = 2', [null, 2 ** 62, null]],
  ['avg', 'd', null, [5.05, 0.1, null]],
  ['avg', 'x', 'i > 1', [5, 1.25, null]],
  ['min', 'd', null, [5.05, 0.1, null]],
  ['max', 'l', null, [5, '9223372036854775807', null]],
  ['min', 's', null, ['x', 'Z', null]],
  ['max', 's', null, ['x', 'é', null]],
  ['min', 's', 'i > 1', ['x', 'a', null]],
  ['min', 'b', null, [false, false, null]],
  ['max', 'b', null, [false, true, null]],
  ['min', 't', 'i > 1', ['2023-01-01 00:00:00', '2024-01-15 00:00:00', null]],
  ['max', 't', null, ['2023-01-01 00:00:00', '2024-02-01 00:00:00', '2024-06-01 00:00:00']],
];

const byTime = 'ORDER BY t ASC NULLS LAST';
const two = `${byTime} ROWS BETWEEN 1 PRECEDING AND CURRENT ROW`;
/** Function, arguments and OVER; then the answers in the order of t, the null behind. */
const windows: readonly [WindowFunction, readonly string[], string, readonly Value[]][] = [
  ['row_number', [], byTime, [1, 2, 3, 4, 5, 6]],
  ['rank', [], 'ORDER BY i ASC NULLS LAST', [4, 1, 2, 2, 5, 5]],
  ['dense_rank', [], 'ORDER BY i ASC NULLS LAST', [3, 1, 2, 2, 4, 4]],
  ['ntile', ['2'], byTime, [1, 1, 1, 2, 2, 2]],
  ['lag', ['i'], byTime, [null, 5, 1, 2, 2, null]],
  ['lag', ['s', '2'], byTime, [null, null, 'x', 'Z', 'é', 'a']],
  ['lead', ['i', '1', '0'], byTime, [1, 2, 2, null, null, 0]],
  ['lead', ['d', '1', '0'], byTime, [0.1, 0.1, 0.1, null, null, 0]],
  ['first_value', ['i'], 'ORDER BY t DESC NULLS FIRST', [null, null, null, null, null, null]],
  ['last_value', ['s'], two, ['x', 'Z', 'é', 'a', null, null]],
  ['count', [], two, [1, 2, 2, 2, 2, 2]],
  ['count', ['i'], two, [1, 2, 2, 2, 1, 0]],
  [
    'sum',
    ['l'],
    two,
    [5, '9223372036854775812', '9223372036854775808', '9223372036854775808', '9223372036854775807', null],
  ],
  ['sum', ['i'], 'PARTITION BY g', [5, 5, 5, 5, null, 5]],
  ['sum', ['i'], `${byTime} ROWS BETWEEN 2 FOLLOWING AND 3 FOLLOWING`, [4, 2, null, null, null, null]],
  ['avg', ['d'], two, [5.05, 2.575, 0.1, 0.1, 0.1, null]],
  ['min', ['s'], two, ['x', 'Z', 'Z', 'a', 'a', null]],
  ['max', ['s'], byTime, ['x', 'x', 'é', 'é', 'é', 'é']],
  ['max', ['b'], two, [false, true, true, true, false, null]],
];

const months = (count: number): Interval => ({ months: count, days: 0, seconds: 0 });
const days = (count: number): Interval => ({ months: 0, days: count, seconds: 0 });
const seconds = (count: number): Interval => ({ months: 0, days: 0, seconds: count });

/** Interval and origin; then the buckets of 2023-01-01, 2024-01-01, 2024-01-15, 2024-02-01, 2024-06-01 and null. */
const bins: readonly [Interval, string, readonly (string | null)[]][] = [
  [months(12), '2024-04-01T00:00:00', ['2022-04-01', '2023-04-01', '2023-04-01', '2023-04-01', '2024-04-01', null]],
  [months(5), '2024-01-01T00:00:00', ['2022-10-01', '2024-01-01', '2024-01-01', '2024-01-01', '2024-06-01', null]],
  [
    months(1),
    '2024-01-15T06:00:00',
    ['2022-12-15 06', '2023-12-15 06', '2023-12-15 06', '2024-01-15 06', '2024-05-15 06', null],
  ],
  [days(10), '2024-04-01T00:00:00', ['2022-12-28', '2023-12-23', '2024-01-12', '2024-02-01', '2024-05-31', null]],
  [
    seconds(5400),
    '2024-01-01T00:15:00',
    ['2022-12-31 22:45', '2023-12-31 22:45', '2024-01-14 22:45', '2024-01-31 22:45', '2024-05-31 22:45', null],
  ],
];

/** First, last and step; then the buckets. */
const series: readonly [string, string, Interval, readonly string[]][] = [
  ['2024-01-01', '2024-04-01', months(1), ['2024-01-01', '2024-02-01', '2024-03-01', '2024-04-01']],
  ['2023-11-28', '2024-03-27', months(1), ['2023-11-28', '2023-12-28', '2024-01-28', '2024-02-28']],
  ['2024-01-01', '2024-11-30', months(3), ['2024-01-01', '2024-04-01', '2024-07-01', '2024-10-01']],
  ['2024-01-01', '2024-01-20', days(7), ['2024-01-01', '2024-01-08', '2024-01-15']],
  ['2024-01-01 22:00', '2024-01-02', seconds(3600), ['2024-01-01 22:00', '2024-01-01 23:00', '2024-01-02']],
  ['2024-01-01', '2023-04-01', months(1), []],
  ['2024-01-01', '2023-04-01', days(1), []],
];

/** A UTC time and a zone; then what the wall clock shows, and what UTC time that is again. */
const zones: readonly [string, string, string, string][] = [
  ['2024-03-31 00:59:59', 'Europe/Paris', '2024-03-31 01:59:59', '2024-03-31 00:59:59'],
  ['2024-03-31 01:00:00', 'Europe/Paris', '2024-03-31 03:00:00', '2024-03-31 01:00:00'],
  ['2024-10-26 23:30:00', 'Europe/Paris', '2024-10-27 01:30:00', '2024-10-26 23:30:00'],
  // Half past two is there twice, and is then the earlier one.
  ['2024-10-27 00:30:00', 'Europe/Paris', '2024-10-27 02:30:00', '2024-10-27 00:30:00'],
  ['2024-10-27 01:30:00', 'Europe/Paris', '2024-10-27 02:30:00', '2024-10-27 00:30:00'],
  ['2024-03-31 00:59:59', 'America/St_Johns', '2024-03-30 22:29:59', '2024-03-31 00:59:59'],
  ['1965-06-01 00:00:00', 'Asia/Kathmandu', '1965-06-01 05:30:00', '1965-06-01 00:00:00'],
  ['2150-06-01 00:00:00', 'Asia/Kathmandu', '2150-06-01 05:45:00', '2150-06-01 00:00:00'],
];

/** `2024-01-01` and `2024-01-01 06` in full. */
const full = (text: string): string =>
  `${text} 00:00:00`.slice(0, text.length) + '0000-00-00 00:00:00'.slice(text.length);

describe.each(engineNames)('%s', (name) => {
  const engine = useEngine(name);
  beforeAll(() => createTable(engine(), 'f', columns, rows));
  const column = async (sql: string, parameters: readonly string[] = []): Promise<Value[]> =>
    (await engine().run(sql, parameters)).map(([value = null]) => value);
  const dialect = (): Dialect => engine().dialect;

  test.each(aggregates)('%s(%s) where %s', async (aggregation, value, guard, answer) => {
    const type = types[value] ?? 'number';
    const sql = dialect().aggregate(aggregation, value, guard, type);
    const isCount = aggregation.startsWith('count');
    const shown = dialect().selected(sql, isCount ? 'number' : type);
    expect(await column(`SELECT ${shown} AS v FROM f GROUP BY g ORDER BY g NULLS FIRST`)).toEqual(answer);
  });

  test('aggregates of no rows at all', async () => {
    const sql = (['count', 'sum', 'avg', 'min', 'count_distinct', 'count_distinct_approx'] as const).map(
      (aggregation, at) => `${dialect().aggregate(aggregation, 'i', null, 'number')} AS v${at}`,
    );
    const count = dialect().aggregate('count', null, 'i > 1', 'number');
    const any = dialect().anyValue('s');
    expect(await engine().run(`SELECT ${sql.join(', ')}, ${count} AS c, ${any} AS a FROM f WHERE g = 'none'`)).toEqual([
      [0, null, null, null, 0, 0, 0, null],
    ]);
  });

  test('some value of a group', async () => {
    expect(
      await column(`SELECT ${dialect().anyValue('l')} AS v FROM f WHERE g = 'a' AND (l = 1 OR l IS NULL)`),
    ).toEqual([1]);
  });

  test.each(windows)('%s(%s) OVER (%s)', async (called, args, over, answer) => {
    const type = types[args[0] ?? ''] ?? 'number';
    const window = dialect().window(called, args, over, type);
    const shown = called === 'max' ? dialect().selected(window, type) : window;
    expect(await column(`SELECT ${shown} AS v, t FROM f ORDER BY t NULLS LAST`)).toEqual(answer);
  });

  test.each(bins)('buckets of %o from %s', async (interval, origin, answer) => {
    const sql = dialect().dateBin(interval, origin, dialect().time('t'));
    expect(await column(`SELECT ${sql} AS v FROM f ORDER BY t NULLS LAST`)).toEqual(
      answer.map((text) => (text === null ? null : full(text))),
    );
  });

  test('buckets far from their origin, before and behind', async () => {
    const at = dialect().placeholder(1, 'time');
    const year = dialect().dateBin(months(12), '2024-04-01T00:00:00', at);
    const fortnight = dialect().dateBin(days(14), '2024-01-01T00:00:00', at);
    const ask = async (time: string) => (await engine().run(`SELECT ${year} AS a, ${fortnight} AS b`, [time]))[0];
    expect(await ask('1850-03-31 23:59:59.999999')).toEqual(['1849-04-01 00:00:00', '1850-03-18 00:00:00']);
    expect(await ask('2350-04-01 00:00:00')).toEqual(['2350-04-01 00:00:00', '2350-03-27 00:00:00']);
  });

  test.each([
    [{ months: 1, days: 1, seconds: 0 }, '2024-01-01T00:00:00'],
    [months(1), '2024-01-31T00:00:00'],
    [days(0), '2024-01-01T00:00:00'],
    [months(1), 'yesterday'],
  ])('no buckets of %o from %s', (interval, origin) => {
    expect(() => dialect().dateBin(interval, origin, 't')).toThrow(SemanticError);
  });

  test('months are added to a time before 1970 as to any other', async () => {
    const sql = dialect().addInterval(dialect().placeholder(1, 'time'), { months: 1, days: 1, seconds: -1 });
    expect(await column(`SELECT ${sql} AS v`, ['1969-11-30 23:59:59.999999'])).toEqual(['1969-12-31 23:59:58.999999']);
  });

  test.each(series)('a series from %s to %s', async (from, to, step, answer) => {
    const [first, last] = [dialect().placeholder(1, 'time'), dialect().placeholder(2, 'time')];
    const sql = `SELECT s."bucket" FROM ${dialect().series(first, last, step, 's')} ORDER BY 1`;
    expect(await column(sql, [full(from), full(to)])).toEqual(answer.map(full));
  });

  test('a series between values of a table', async () => {
    const ask = (from: string) =>
      column(`SELECT s."bucket" FROM ${dialect().series(from, '(SELECT max(t) FROM f)', months(6), 's')} ORDER BY 1`);
    const first = dialect().dateTrunc('month', '(SELECT min(t) FROM f)');
    expect(await ask(first)).toEqual(['2023-01-01', '2023-07-01', '2024-01-01'].map(full));
    expect(await ask("(SELECT min(t) FROM f WHERE g = 'none')")).toEqual([]);
  });

  test.each(Object.keys(columns))('a FULL JOIN by %s, null with null', async (key) => {
    const groups = (condition: string) =>
      `(SELECT ${key} AS k, COUNT(*) AS n FROM f WHERE i IS NULL OR ${condition} GROUP BY 1)`;
    const on = dialect().isNotDistinct('p.k', 'q.k');
    const sql = `SELECT p.n, q.n FROM ${groups('i < 3')} AS p FULL JOIN ${groups('i > 1')} AS q ON ${on}`;
    const [keys, both] = await Promise.all([
      column(`SELECT COUNT(*) AS n FROM (SELECT DISTINCT ${key} FROM f) AS k`),
      engine().run(sql),
    ]);
    expect(both).toHaveLength(Number(keys[0]));
    const total = (at: number) => both.reduce((sum, row) => sum + Number(row[at] ?? 0), 0);
    expect([total(0), total(1)]).toEqual([5, 5]);
  });

  test('texts are ordered by code points', async () => {
    expect(await column(`SELECT s FROM f ORDER BY ${dialect().ordered('s')} ASC NULLS FIRST`)).toEqual([
      null,
      null,
      'Z',
      'a',
      'x',
      'é',
    ]);
  });

  test.each(zones)('%s in %s', async (utc, zone, local, again) => {
    const shown = dialect().localTime(dialect().placeholder(1, 'time'), zone);
    const sql = `SELECT ${shown} AS l, ${dialect().utcTime(shown, zone)} AS u`;
    expect(await engine().run(sql, [utc])).toEqual([[local, again]]);
  });

  test.each([
    ['Europe/Paris', '2024-03-31'],
    ['Europe/Paris', '2024-10-27'],
    ['America/Havana', '2024-11-03'],
    ['America/Sao_Paulo', '2018-11-04'],
    ['Australia/Lord_Howe', '2024-04-07'],
    ['Australia/Lord_Howe', '2024-10-06'],
  ])('in %s around %s a wall clock is read as a literal is', async (zone, day) => {
    const begin = Date.parse(`${day}T00:00:00Z`) - 36 * 3_600_000;
    const clocks = Array.from({ length: 48 * 4 }, (_, quarter) => {
      const text = new Date(begin + quarter * 1_800_000).toISOString();
      return `${text.slice(0, 10)} ${text.slice(11, 19)}`;
    });
    // One that is left out is the one case in which a moved time is not what a bound is: see Dialect.utcTime.
    const known = clocks.filter((it) => utcToLocal(localToUtc(`${it}.000000`, zone), zone).startsWith(it));
    expect(clocks.length - known.length).toBeLessThan(3);
    const times = known.map((_, at) => `SELECT ${at} AS n, ${dialect().placeholder(at + 1, 'time')} AS t`);
    const sql = `SELECT ${dialect().utcTime('c.t', zone)} AS u FROM (${times.join(' UNION ALL ')}) AS c ORDER BY c.n`;
    expect(await column(sql, known)).toEqual(known.map((it) => localToUtc(`${it}.000000`, zone).slice(0, 19)));
  });

  test('a wall clock time that does not exist', async () => {
    const sql = `SELECT ${dialect().utcTime(dialect().placeholder(1, 'time'), 'Europe/Paris')} AS u`;
    expect(await column(sql, ['2024-03-31 02:30:00'])).toEqual(['2024-03-31 01:30:00']);
  });

  test('values are bound with their types', async () => {
    const values = ['a\'b\\c\n"', 9223372036854775807n, 0.1, true, '2024-01-31 13:45:00.123456'];
    const parameterTypes = ['string', 'integer', 'double', 'boolean', 'time'] as const;
    const list = parameterTypes.map((type, at) => `${dialect().placeholder(at + 1, type)} AS v${at}`);
    expect(await engine().run(`SELECT ${list.join(', ')}`, values)).toEqual([
      ['a\'b\\c\n"', '9223372036854775807', 0.1, true, '2024-01-31 13:45:00.123456'],
    ]);
  });

  test('texts and names of the model, whatever is in them', async () => {
    const nasty = 'it\'s a "\\" \\n, {p1:String} $1 -- /* ';
    const sql = `SELECT ${dialect().literal(nasty)} AS ${dialect().quote(nasty)}`;
    expect(await column(`SELECT t.${dialect().quote(nasty)} AS v FROM (${sql}) AS t`)).toEqual([nasty]);
  });
});
