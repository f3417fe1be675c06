/** Measures of measures of measures: answers worked out by hand, on every engine. What is made of what must not depend on what stands beside it. */
import { describe, expect, test } from 'vitest';
import { engineNames, useEngine } from './engines.ts';
import { loadModel } from './load-model.ts';
import { type Case, month, order, testCases } from './time-fixture.ts';
import { ask, compile, fill, timeYaml } from './time-shop.ts';

const measures = [
  'name: best_half, type: max, sql: "{half}", add_group_by: [buyer]',
  'name: best_halves, type: sum, sql: "{best_half}", add_group_by: [region]',
  'name: mean_of_means, type: avg, sql: "{average_order}", add_group_by: [buyer]',
  'name: least_region, type: min, sql: "{mean_of_means}", add_group_by: [region]',
  'name: twice, type: number, sql: "{mean_of_means} + {mean_of_means}"',
  'name: window_at, type: sum, sql: "{total_3m}", group_by: [at]',
  'name: total_at, type: sum, sql: "{total}", group_by: [at]',
  'name: share_last_month, type: number, sql: "{share}", time_shift: [{ time_dimension: at, interval: 1 month, type: prior }]',
].map((it) => `      - { multi_stage: true, ${it} }\n`);
const half = '      - { name: half, type: number, sql: "{total} / 2" }\n';
const model = loadModel(
  timeYaml
    .replace('      - { name: total_of_all,', `${half}${measures.join('')}      - { name: total_of_all,`)
    .replace(
      '- { name: fortnight,',
      '- { name: from_28th, interval: 1 month, origin: "2024-01-28T12:00:00" }\n          - { name: fortnight,',
    ),
);

const cases: readonly Case[] = [
  [
    'a stage around a stage around a ratio',
    `SELECT channel, MEASURE(mean_of_means), MEASURE(least_region), MEASURE(twice) FROM sales
      WHERE at IS NOT NULL AND id NOT IN (4, 6) GROUP BY 1 ORDER BY 1`,
    [
      ['store', 9, 9, 18],
      ['web', 33.25, 2.5, 66.5],
      [null, null, null, null],
    ],
    { model },
  ],
  [
    'a stage around a stage around a formula of one measure',
    `SELECT channel, MEASURE(best_half), MEASURE(best_halves) FROM sales WHERE channel IS NOT NULL AND at IS NOT NULL GROUP BY 1 ORDER BY 1`,
    [
      ['store', 8, 8],
      ['web', 32, 18.5 + 32],
    ],
    { model },
  ],
  [
    'a total is beside the rows that it has by itself, whatever other total stands there',
    `SELECT date_trunc('month', at), channel, MEASURE(window_at), MEASURE(total_at) FROM sales
      WHERE at >= '2024-01-01' AND at < '2024-03-01' GROUP BY 1, 2 ORDER BY 1, 2`,
    [
      [month('2024-01'), 'store', 15, null],
      [month('2024-01'), 'web', 15, 12],
      [month('2024-02'), 'store', 62, 48],
      [month('2024-02'), 'web', 62, 48],
    ],
    { model },
  ],
  [
    'a measure at another time is moved by its rows, also beside a window that is looked up',
    `SELECT date_trunc('month', at), MEASURE(total_last_year), MEASURE(total_3m_last_year) FROM sales
      WHERE at >= '2025-01-31 13:00' AND at < '2025-03-01' GROUP BY 1 ORDER BY 1`,
    [
      [month('2025-01'), null, 15],
      [month('2025-02'), 48, 62],
    ],
    { model },
  ],
  [
    'a share at another time is one of the range at that time',
    `SELECT date_trunc('month', at), MEASURE(share_last_month) FROM sales
      WHERE at >= '2024-02-01' AND at < '2024-04-01' GROUP BY 1 ORDER BY 1`,
    [
      [month('2024-02'), 0.2],
      [month('2024-03'), 0.8],
    ],
    { model },
  ],
];

describe.each(engineNames)('%s', (name) => {
  const engine = useEngine(name);

  testCases(cases, engine);

  test('months that begin behind the midnight of the 28th: 29 January is no day of the unit before', async () => {
    await fill(engine(), [order(1, '2023-01-29 03:00:00', 1), order(2, '2023-02-28 13:00:00', 2)]);
    const sql = `SELECT date_trunc('from_28th', at), MEASURE(total), MEASURE(total_last_month) FROM sales GROUP BY 1 ORDER BY 1`;
    expect(await ask(engine(), sql, { model })).toEqual([
      ['2023-01-28 12:00:00', 1, null],
      ['2023-02-28 12:00:00', 2, 1],
      ['2023-03-28 12:00:00', null, 2],
    ]);
  });
});

test('a figure of the whole range is not looked up by days', () => {
  const days = "SELECT date_trunc('day', at), MEASURE(share_last_month) FROM sales";
  expect(() => compile(`${days} WHERE at >= '2024-02-01' GROUP BY 1`, { model })).toThrow(/whole range of time/);
  expect(() => compile(`${days} GROUP BY 1`, { model })).not.toThrow();
});
