/** Measures over windows of time: answers worked out by hand, on every engine. */
import { describe, expect, test } from 'vitest';
import { engineNames, useEngine } from './engines.ts';
import { type Case, month, testCases } from './time-fixture.ts';
import { ask, fill, somebody } from './time-shop.ts';

const cases: readonly Case[] = [
  [
    'a window counts rows before the ones that a filter leaves (14), and no value twice (10)',
    `SELECT date_trunc('month', at), MEASURE(total_3m), MEASURE(buyers_3m), MEASURE(total) FROM sales
      WHERE at >= '2024-01-01' AND at < '2024-04-01' GROUP BY 1 ORDER BY 1`,
    [
      [month('2024-01'), 15, 3, 12],
      [month('2024-02'), 62, 3, 48],
      [month('2024-03'), 60, 2, null],
    ],
  ],
  [
    'BETWEEN takes both ends in',
    `SELECT date_trunc('month', at), MEASURE(total_3m) FROM sales WHERE at BETWEEN '2024-02-15' AND '2024-03-01' GROUP BY 1 ORDER BY 1`,
    [
      [month('2024-02'), 62],
      [month('2024-03'), 60],
    ],
  ],
  [
    'a truncated time names its unit',
    `SELECT date_trunc('month', at), MEASURE(total_3m), MEASURE(total) FROM sales WHERE date_trunc('month', at) = '2024-02-01' GROUP BY 1`,
    [[month('2024-02'), 62, 48]],
  ],
  [
    'a unit that a subquery names',
    `SELECT date_trunc('month', at), MEASURE(total_3m) FROM sales
      WHERE date_trunc('month', at) = (SELECT MAX(month) FROM (SELECT date_trunc('month', at) AS month FROM sales WHERE channel = 'store' GROUP BY 1) AS m)
      GROUP BY 1`,
    [[month('2024-02'), 62]],
  ],
  [
    'units that a subquery lists',
    `SELECT date_trunc('month', at), MEASURE(total_3m) FROM sales
      WHERE date_trunc('month', at) IN (SELECT date_trunc('month', at) FROM sales WHERE channel = 'store' GROUP BY 1) GROUP BY 1 ORDER BY 1`,
    [
      [month('2023-12'), 3],
      [month('2024-02'), 62],
    ],
  ],
  [
    'windows of hours, by the hour',
    `SELECT date_trunc('hour', at), MEASURE(last_2h) FROM sales WHERE at >= '2023-12-31 22:00' AND at < '2024-01-01 03:00' GROUP BY 1 ORDER BY 1`,
    [
      ['2023-12-31 23:00:00', 2],
      ['2024-01-01 00:00:00', 6],
      ['2024-01-01 01:00:00', 4],
    ],
  ],
  [
    'the last hours of days',
    `SELECT date_trunc('day', at), MEASURE(last_2h) FROM sales WHERE at >= '2023-12-31' AND at < '2024-01-03' GROUP BY 1 ORDER BY 1`,
    [['2023-12-31 00:00:00', 2]],
  ],
  [
    'units of a year, with both ends of the data',
    `SELECT date_trunc('quarter', at), MEASURE(total_3m) FROM sales WHERE EXTRACT(year FROM at) = 2024 GROUP BY 1 ORDER BY 1`,
    [
      [month('2024-01'), 60],
      [month('2024-04'), 64],
    ],
  ],
  [
    '`offset: start` leaves the unit itself out (17)',
    `SELECT date_trunc('month', at), MEASURE(before_3m) FROM sales WHERE at >= '2024-01-01' AND at < '2024-03-01' GROUP BY 1 ORDER BY 1`,
    [
      [month('2024-01'), 3],
      [month('2024-02'), 15],
    ],
  ],
  [
    'from the beginning of the year, and of the fiscal year, on',
    `SELECT date_trunc('month', at), MEASURE(ytd), MEASURE(fytd) FROM sales WHERE at >= '2023-12-01' AND at < '2024-06-01' GROUP BY 1 ORDER BY 1`,
    [
      [month('2023-12'), 3, 3],
      [month('2024-01'), 12, 15],
      [month('2024-02'), 60, 63],
      [month('2024-03'), 60, 63],
      [month('2024-04'), 60, null],
      [month('2024-05'), 124, 64],
    ],
  ],
  [
    'a running total is the total where no time is asked for',
    'SELECT channel, MEASURE(running) FROM sales GROUP BY 1 ORDER BY 1',
    [
      ['store', 18],
      ['web', 237],
      [null, null],
    ],
  ],
  [
    'a running total by month, over months without rows',
    `SELECT date_trunc('month', at), MEASURE(running) FROM sales WHERE channel = 'web' GROUP BY 1 ORDER BY 1`,
    [
      [month('2023-11'), 1],
      [month('2023-12'), 1],
      [month('2024-01'), 13],
      [month('2024-02'), 45],
      [month('2024-03'), 45],
      [month('2024-04'), 45],
      [month('2024-05'), 109],
    ],
  ],
  [
    'windows of different lengths beside plain measures, each as by itself',
    `SELECT date_trunc('month', at), MEASURE(before_3m), MEASURE(count_3m), MEASURE(mean_of_3m), MEASURE(orders_count) FROM sales
      WHERE at >= '2024-05-01' AND at < '2024-07-01' GROUP BY 1 ORDER BY 1`,
    [
      [month('2024-05'), 48, 2, 32, 2],
      [month('2024-06'), 64, 2, 32, null],
    ],
  ],
  [
    'a date is a unit, too; a condition on dates chooses days',
    `SELECT CAST(at AS date) AS day, MEASURE(total), MEASURE(around_10d), MEASURE(total_last_month) FROM sales
      WHERE CAST(at AS date) BETWEEN '2024-02-28' AND '2024-02-29' GROUP BY 1 ORDER BY 1`,
    [
      ['2024-02-28 00:00:00', 16, 48, null],
      ['2024-02-29 00:00:00', 32, 48, null],
    ],
  ],
  [
    'a window over times of which a row has several counts the row once',
    `SELECT date_trunc('month', sent_at), MEASURE(count_3m), MEASURE(total_3m), MEASURE(pieces_3m) FROM sales
      WHERE sent_at >= '2024-02-01' AND sent_at < '2024-06-01' GROUP BY 1 ORDER BY 1`,
    [
      [month('2024-02'), 1, 8, 1],
      [month('2024-03'), 2, 12, 11],
      [month('2024-04'), 2, 12, 11],
      [month('2024-05'), 3, 76, 14],
    ],
  ],
  [
    'months ranked by a window of time, and the best one only',
    `SELECT month, total_3m, place FROM (
        SELECT date_trunc('month', at) AS month, MEASURE(total_3m) AS total_3m, RANK() OVER (ORDER BY MEASURE(total_3m) DESC) AS place
        FROM sales WHERE at >= '2024-01-01' AND at < '2024-05-01' GROUP BY 1
      ) AS ranked WHERE place <= 2 ORDER BY 3`,
    [
      [month('2024-02'), 62, 1],
      [month('2024-03'), 60, 2],
    ],
  ],
  [
    'other rows are in no window and no stage',
    `SELECT date_trunc('month', at), MEASURE(total_3m), MEASURE(total_last_month), MEASURE(total_of_all) FROM sales
      WHERE at >= '2024-01-01' AND at < '2024-03-01' GROUP BY 1 ORDER BY 1`,
    [
      [month('2024-01'), 11, 2, 56],
      [month('2024-02'), 58, 8, 56],
    ],
    { subject: somebody },
  ],
];

describe.each(engineNames)('%s', (name) => {
  const engine = useEngine(name);
  testCases(cases, engine);

  test('no data', async () => {
    await fill(engine(), []);
    const query = (measure: string, where = '') =>
      `SELECT date_trunc('month', at), MEASURE(${measure}) FROM sales ${where} GROUP BY 1`;
    for (const measure of [
      'total_3m',
      'running',
      'total_last_month',
      'around_last_month',
      'total_of_all',
      'best_region',
    ]) {
      expect(await ask(engine(), query(measure))).toEqual([]);
      expect(await ask(engine(), query(measure, "WHERE at >= '2024-01-01' AND at < '2024-03-01'"))).toEqual([]);
    }
    expect(
      await ask(engine(), 'SELECT MEASURE(running), MEASURE(total_of_all), MEASURE(mean_of_buyers) FROM sales'),
    ).toEqual([[null, null, null]]);
  });
});
