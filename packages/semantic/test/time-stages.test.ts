/** Measures at another time and in stages: answers worked out by hand, on every engine. */
import { describe, expect, test } from 'vitest';
import { createTable, engineNames, useEngine } from './engines.ts';
import { loadModel } from './load-model.ts';
import { type Case, month, testCases } from './time-fixture.ts';
import { ask, masked } from './time-shop.ts';

const cases: readonly Case[] = [
  [
    'a day of the month before: 29, 30 and 31 March look back at 29 February',
    `SELECT date_trunc('day', at), MEASURE(total_last_month) FROM sales WHERE at >= '2024-03-28' AND at < '2024-04-02' GROUP BY 1 ORDER BY 1`,
    [
      ['2024-03-28 00:00:00', 16],
      ['2024-03-29 00:00:00', 32],
      ['2024-03-30 00:00:00', 32],
      ['2024-03-31 00:00:00', 32],
    ],
  ],
  [
    'hours of a month before',
    `SELECT date_trunc('hour', at), MEASURE(total_last_month) FROM sales WHERE at >= '2024-03-28' AND at < '2024-03-31' GROUP BY 1 ORDER BY 1`,
    [
      ['2024-03-28 12:00:00', 16],
      ['2024-03-29 12:00:00', 32],
      ['2024-03-30 12:00:00', 32],
    ],
  ],
  [
    'a ratio to the month before',
    `SELECT date_trunc('month', at), MEASURE(total), MEASURE(total_last_month), MEASURE(growth) FROM sales WHERE at < '2024-04-01' GROUP BY 1 ORDER BY 1`,
    [
      [month('2023-11'), 1, null, null],
      [month('2023-12'), 2, 1, 2],
      [month('2024-01'), 12, 2, 6],
      [month('2024-02'), 48, 12, 4],
      [month('2024-03'), null, 48, null],
    ],
  ],
  [
    'a window of a year before (16)',
    `SELECT date_trunc('month', at), MEASURE(total_3m_last_year) FROM sales WHERE at >= '2025-02-01' AND at < '2025-05-01' GROUP BY 1 ORDER BY 1`,
    [
      [month('2025-02'), 62],
      [month('2025-03'), 60],
      [month('2025-04'), 48],
    ],
  ],
  [
    'the year to date of the month before: in January that of December',
    `SELECT date_trunc('month', at), MEASURE(ytd_last_month) FROM sales WHERE at >= '2024-01-01' AND at < '2024-04-01' GROUP BY 1 ORDER BY 1`,
    [
      [month('2024-01'), 3],
      [month('2024-02'), 12],
      [month('2024-03'), 60],
    ],
  ],
  [
    'shifts within shifts',
    `SELECT date_trunc('month', at), MEASURE(two_months_ago) FROM sales WHERE at >= '2024-02-01' AND at < '2024-05-01' GROUP BY 1 ORDER BY 1`,
    [
      [month('2024-02'), 2],
      [month('2024-03'), 12],
      [month('2024-04'), 48],
    ],
  ],
  [
    'a shift without a unit of time moves the range',
    `SELECT MEASURE(total_last_month), MEASURE(total_last_week) FROM sales WHERE at >= '2024-03-01' AND at < '2024-04-01'`,
    [[48, 48]],
  ],
  [
    'a part of the time is moved as well',
    'SELECT EXTRACT(month FROM at), MEASURE(total_last_month) FROM sales WHERE EXTRACT(year FROM at) = 2024 GROUP BY 1 ORDER BY 1',
    [
      [1, 2],
      [2, 12],
      [3, 48],
      [6, 64],
    ],
  ],
  [
    'a share of the whole: all rows that WHERE leaves',
    `SELECT channel, MEASURE(total), MEASURE(total_of_all), MEASURE(share), MEASURE(buyers), MEASURE(buyers_of_all) FROM sales
      WHERE at < '2024-03-01' GROUP BY 1 ORDER BY 1`,
    [
      ['store', 18, 63, 18 / 63, 2, 3],
      ['web', 45, 63, 45 / 63, 2, 3],
    ],
  ],
  [
    'HAVING and LIMIT leave the whole as it is',
    `SELECT channel, MEASURE(total_of_all) FROM sales WHERE at < '2024-03-01' GROUP BY 1 HAVING MEASURE(total) > 20 ORDER BY 1 LIMIT 1`,
    [['web', 63]],
  ],
  [
    'at some dimensions, and beside some',
    `SELECT channel, region, MEASURE(total), MEASURE(total_of_channel), MEASURE(total_beside_channel), MEASURE(best_channel), MEASURE(mean_of_channels)
      FROM sales WHERE channel IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2`,
    [
      ['store', 'north', 18, 18, 191, 173, 95.5],
      ['web', 'north', 173, 237, 191, 173, 95.5],
      ['web', 'south', 64, 237, 64, 64, 64],
    ],
  ],
  [
    'an average of totals of something that the query does not show',
    'SELECT channel, MEASURE(mean_of_buyers), MEASURE(best_region) FROM sales WHERE channel IS NOT NULL AND at IS NOT NULL GROUP BY 1 ORDER BY 1',
    [
      ['store', 9, 18],
      ['web', (37 + 8 + 64) / 3, 64],
    ],
  ],
  [
    'a measure by a choice in WHERE',
    `SELECT channel, MEASURE(by_currency) FROM sales WHERE currency = 'count' GROUP BY 1 ORDER BY 1`,
    [
      ['store', 2],
      ['web', 6],
      [null, 1],
    ],
  ],
  [
    'a measure by each choice',
    `SELECT currency, MEASURE(by_currency) FROM sales GROUP BY 1 ORDER BY 1`,
    [
      ['EUR', 255],
      ['USD', 1],
      ['count', 9],
    ],
  ],
  [
    'a month before, on the wall clock',
    `SELECT date_trunc('day', at), MEASURE(total_last_month) FROM sales WHERE at >= '2024-01-31' AND at < '2024-02-03' GROUP BY 1`,
    [['2024-02-01 00:00:00', 6]],
    { timezone: 'Europe/Berlin' },
  ],
  [
    'a total of windows, and a window of shares',
    `WITH months AS (SELECT date_trunc('month', at) AS month, MEASURE(share) AS share FROM sales WHERE at >= '2024-01-01' AND at < '2024-03-01' GROUP BY 1)
      SELECT SUM(share), COUNT(*) FROM months`,
    [[1, 2]],
  ],
  [
    'HAVING on a window and on another time',
    `SELECT date_trunc('month', at) FROM sales WHERE at >= '2024-01-01' AND at < '2024-05-01' GROUP BY 1
      HAVING MEASURE(total_3m) > 50 AND MEASURE(total_last_month) IS NOT NULL ORDER BY 1`,
    [[month('2024-02')], [month('2024-03')]],
  ],
  [
    'a masked measure is masked in all that is made of it',
    `SELECT date_trunc('month', at), MEASURE(total), MEASURE(total_last_month), MEASURE(total_of_all), MEASURE(share), MEASURE(orders_count) FROM sales
      WHERE at >= '2024-02-01' AND at < '2024-03-01' GROUP BY 1`,
    [[month('2024-02'), null, null, null, null, 2]],
    { subject: masked },
  ],
];

describe.each(engineNames)('%s', (name) => {
  const engine = useEngine(name);
  testCases(cases, engine);

  test('the last balance of each account, added up (11)', async () => {
    const last = {
      duckdb: 'arg_max({CUBE}.amount, {CUBE}.day)',
      postgres: '(array_agg({CUBE}.amount ORDER BY {CUBE}.day DESC))[1]',
      clickhouse: 'argMax({CUBE}.amount, {CUBE}.day)',
    };
    const model = loadModel(`
cubes:
  - name: sales
    sql_table: balances
    dimensions:
      - { name: account, sql: "{CUBE}.account", type: number, primary_key: true }
      - { name: day, sql: "{CUBE}.day", type: time, primary_key: true }
    measures:
      - { name: last, sql: "${last[name]}", type: number_agg }
      - { name: balance, multi_stage: true, type: sum, sql: "{last}", add_group_by: [account] }
`);
    const rows = [
      [1, '2024-01-10 00:00:00', 50],
      [1, '2024-01-31 00:00:00', 70],
      [1, '2024-02-15 00:00:00', 10],
      [2, '2024-01-05 00:00:00', 50],
    ];
    await engine().exec('DROP TABLE IF EXISTS balances');
    await createTable(engine(), 'balances', { account: 'integer', day: 'timestamp', amount: 'integer' }, rows);
    expect(await ask(engine(), 'SELECT MEASURE(balance) FROM sales', { model })).toEqual([[60]]);
    const monthly = "SELECT date_trunc('month', day), MEASURE(balance) FROM sales GROUP BY 1 ORDER BY 1";
    expect(await ask(engine(), monthly, { model })).toEqual([
      [month('2024-01'), 120],
      [month('2024-02'), 10],
    ]);
  });

  test('two facts by the days that they share, with windows and another time', async () => {
    const fact = (table: string) => `
  - name: ${table}
    sql_table: ${table}
    joins: [{ name: days, relationship: many_to_one, sql: "{CUBE}.day = {days}.day" }]
    dimensions: [{ name: id, sql: "{CUBE}.id", type: number, primary_key: true }]
    measures:
      - { name: ${table}_n, sql: "{CUBE}.n", type: sum }
      - { name: ${table}_2d, sql: "{CUBE}.n", type: sum, rolling_window: { trailing: 2 day } }
      - { name: ${table}_before, multi_stage: true, type: number, sql: "{${table}_n}", time_shift: [{ interval: 1 day, type: prior }] }`;
    const model = loadModel(`
cubes:${fact('visits')}${fact('buys')}
  - name: days
    sql_table: days
    dimensions: [{ name: day, sql: "{CUBE}.day", type: time, primary_key: true }]
views:
  - name: traffic
    cubes:
      - { join_path: visits, includes: [visits_n, visits_2d, visits_before] }
      - { join_path: buys, includes: [buys_n, buys_2d, buys_before] }
      - { join_path: visits.days, includes: [day] }
`);
    const day = (date: number) => `2024-01-0${date} 00:00:00`;
    for (const table of ['visits', 'buys', 'days']) await engine().exec(`DROP TABLE IF EXISTS ${table}`);
    const columns = { id: 'integer', day: 'timestamp', n: 'integer' } as const;
    await createTable(engine(), 'visits', columns, [
      [1, day(1), 10],
      [2, day(2), 20],
      [3, day(2), 30],
    ]);
    await createTable(engine(), 'buys', columns, [
      [1, day(2), 1],
      [2, day(4), 2],
    ]);
    await createTable(engine(), 'days', { day: 'timestamp' }, [[day(1)], [day(2)], [day(3)], [day(4)]]);
    const measures = ['visits_n', 'visits_2d', 'visits_before', 'buys_n', 'buys_2d', 'buys_before'];
    const sql = `SELECT date_trunc('day', day), ${measures.map((it) => `MEASURE(${it})`).join(', ')} FROM traffic
      WHERE day >= '2024-01-02' AND day < '2024-01-05' GROUP BY 1 ORDER BY 1`;
    expect(await ask(engine(), sql, { model })).toEqual([
      [day(2), 50, 60, 10, 1, 1, null],
      [day(3), null, 50, 50, null, 1, 1],
      [day(4), null, null, null, 2, 2, null],
    ]);
  });
});
