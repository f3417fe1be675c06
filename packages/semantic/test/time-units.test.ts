/** Units of time: missing ones filled in, weeks, units of the model, time zones. By hand, on every engine. */
import { describe, expect, test } from 'vitest';
import { engineNames, useEngine } from './engines.ts';
import { loadModel } from './load-model.ts';
import { type Case, month, order, orders, testCases } from './time-fixture.ts';
import { ask, fill } from './time-shop.ts';

const cases: readonly Case[] = [
  [
    'missing months filled in (19), null, for each combination of the rest',
    `SELECT date_trunc('month', at), channel, MEASURE(total) FROM sales WHERE at >= '2024-01-01' AND at < '2024-04-01' GROUP BY 1, 2 ORDER BY 1, 2`,
    [
      [month('2024-01'), 'store', null],
      [month('2024-01'), 'web', 12],
      [month('2024-02'), 'store', 16],
      [month('2024-02'), 'web', 32],
      [month('2024-03'), 'store', null],
      [month('2024-03'), 'web', null],
    ],
    { fill: true },
  ],
  [
    'months that a filter leaves out are not filled in',
    `SELECT date_trunc('month', at), MEASURE(total) FROM sales
      WHERE at >= '2024-01-01' AND at < '2024-05-01' AND NOT (at >= '2024-02-01' AND at < '2024-03-01') GROUP BY 1 ORDER BY 1`,
    [
      [month('2024-01'), 12],
      [month('2024-03'), null],
      [month('2024-04'), null],
    ],
    { fill: true },
  ],
  [
    'nor what HAVING leaves out',
    `SELECT date_trunc('month', at), MEASURE(total) FROM sales WHERE at >= '2024-01-01' AND at < '2024-04-01' GROUP BY 1 HAVING MEASURE(total) > 20 ORDER BY 1`,
    [[month('2024-02'), 48]],
    { fill: true },
  ],
  [
    'no rows at all: the months are there',
    `SELECT date_trunc('month', at), MEASURE(total) FROM sales WHERE at >= '2030-01-01' AND at < '2030-03-01' GROUP BY 1 ORDER BY 1`,
    [
      [month('2030-01'), null],
      [month('2030-02'), null],
    ],
    { fill: true },
  ],
  [
    'ISO weeks: the first week of 2024 begins on Monday, 1 January, the last of 2023 on 25 December (22)',
    `SELECT date_trunc('week', at), MEASURE(total) FROM sales WHERE at >= '2023-12-01' AND at < '2024-02-01' GROUP BY 1 ORDER BY 1`,
    [
      ['2023-12-25 00:00:00', 2],
      ['2024-01-01 00:00:00', 4],
      ['2024-01-29 00:00:00', 8],
    ],
  ],
  [
    'units of the model (23)',
    `SELECT date_trunc('fiscal_year', at), MEASURE(total), MEASURE(total_last_year) FROM sales WHERE at IS NOT NULL GROUP BY 1 ORDER BY 1`,
    [
      ['2023-04-01 00:00:00', 63, null],
      ['2024-04-01 00:00:00', 64, 63],
      ['2025-04-01 00:00:00', null, 64],
    ],
  ],
  [
    'fortnights from the model, moved by a week twice as long',
    `SELECT date_trunc('fortnight', at), MEASURE(total), MEASURE(running) FROM sales WHERE at >= '2024-01-01' AND at < '2024-03-01' GROUP BY 1 ORDER BY 1`,
    [
      ['2024-01-01 00:00:00', 4, 7],
      ['2024-01-15 00:00:00', null, 7],
      ['2024-01-29 00:00:00', 8, 15],
      ['2024-02-12 00:00:00', null, 15],
      ['2024-02-26 00:00:00', 48, 63],
    ],
  ],
  [
    '23:30 UTC is the next day in Berlin (21): windows and bounds are of the wall clock',
    `SELECT date_trunc('month', at), MEASURE(total), MEASURE(total_3m) FROM sales WHERE at >= '2024-01-01' AND at < '2024-02-01' GROUP BY 1`,
    [[month('2024-01'), 14, 15]],
    { timezone: 'Europe/Berlin' },
  ],
];

describe.each(engineNames)('%s', (name) => {
  const engine = useEngine(name);
  testCases(cases, engine);

  test('a local time knows no zone: neither in units and bounds, nor in windows and at another time', async () => {
    const model = loadModel(`
cubes:
  - name: sales
    sql_table: orders
    dimensions:
      - { name: id, sql: "{CUBE}.id", type: number, primary_key: true }
      - { name: at, sql: "{CUBE}.at", type: time, local_time: true }
    measures:
      - { name: total, sql: "{CUBE}.amount", type: sum }
      - { name: total_3m, sql: "{CUBE}.amount", type: sum, rolling_window: { trailing: 3 month } }
      - { name: last_month, multi_stage: true, type: number, sql: "{total}", time_shift: [{ interval: 1 month, type: prior }] }
`);
    const sql = `SELECT date_trunc('month', at), MEASURE(total), MEASURE(total_3m), MEASURE(last_month) FROM sales
      WHERE at >= '2024-01-01' AND at < '2024-02-01' GROUP BY 1`;
    for (const timezone of ['UTC', 'Europe/Berlin', 'America/New_York']) {
      await fill(engine(), orders);
      expect(await ask(engine(), sql, { model, timezone })).toEqual([[month('2024-01'), 12, 15, 2]]);
    }
  });

  test('a day has 23, 24 or 25 hours (21), also in windows and a week before', async () => {
    const hours = ['2024-03-28', '2024-04-04', '2024-10-25'].flatMap((from, part) =>
      Array.from({ length: 24 * 4 }, (_, hour) => {
        const at = new Date(Date.parse(`${from}T00:00:00Z`) + hour * 3_600_000)
          .toISOString()
          .slice(0, 19)
          .replace('T', ' ');
        return order(part * 100 + hour, at, 1);
      }),
    );
    await fill(engine(), hours);
    const berlin = { timezone: 'Europe/Berlin' };
    const days = (from: string, until: string, measures: string) =>
      `SELECT date_trunc('day', at), ${measures} FROM sales WHERE at >= '${from}' AND at < '${until}' GROUP BY 1 ORDER BY 1`;
    expect(
      await ask(engine(), days('2024-03-30', '2024-04-01', 'MEASURE(orders_count), MEASURE(around_10d)'), berlin),
    ).toEqual([
      ['2024-03-30 00:00:00', 24, 192],
      ['2024-03-31 00:00:00', 23, 192],
    ]);
    expect(await ask(engine(), days('2024-10-26', '2024-10-28', 'MEASURE(orders_count)'), berlin)).toEqual([
      ['2024-10-26 00:00:00', 24],
      ['2024-10-27 00:00:00', 25],
    ]);
    expect(
      await ask(engine(), days('2024-04-06', '2024-04-08', 'MEASURE(total_last_week), MEASURE(total)'), berlin),
    ).toEqual([
      ['2024-04-06 00:00:00', 24, 24],
      ['2024-04-07 00:00:00', 23, 24],
    ]);
  });
});
