/** The row filter of a view acts on the joined rows of whatever a query is computed from. Answers worked out by hand. */
import { beforeAll, describe, expect, test } from 'vitest';
import { compileSql } from '../../src/compile-sql.ts';
import { createTable, engineNames, useEngine, type Value } from '../engines.ts';
import { loadModel } from '../load-model.ts';
import { anybody } from './ask.ts';

const model = loadModel(`
cubes:
  - name: sales
    sql_table: sales
    joins:
      - { name: items, relationship: one_to_many, sql: "{CUBE}.id = {items}.sale_id" }
      - { name: shops, relationship: many_to_one, sql: "{CUBE}.shop_id = {shops.id}" }
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true }
      - { name: kind, sql: kind, type: string, mask: hidden }
      - { name: at, sql: at, type: time }
    measures:
      - { name: total, sql: "{CUBE}.amount", type: sum }
      - { name: secret, sql: "{CUBE}.amount", type: sum }
      - { name: most, sql: "MAX({CUBE}.amount)", type: number_agg }
      - { name: total_2m, sql: "{CUBE}.amount", type: sum, rolling_window: { trailing: 2 month } }
      - { name: sales_2m, type: count, rolling_window: { trailing: 2 month } }
      - { name: kinds_2m, sql: "{CUBE}.kind", type: count_distinct, rolling_window: { trailing: 2 month } }
      - { name: of_all_months, multi_stage: true, sql: "{total}", type: sum, group_by: [kind] }
      - name: total_before
        multi_stage: true
        type: number
        sql: "{total}"
        time_shift: [{ time_dimension: at, interval: 1 month, type: prior }]
  - name: items
    sql_table: items
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true }
      - { name: tag, sql: tag, type: string }
    measures: [{ name: items_count, type: count }]
  - name: shops
    sql_table: shops
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true }
      - { name: city, sql: city, type: string }
  - name: visits
    sql_table: visits
    joins: [{ name: sales, relationship: many_to_one, sql: "{CUBE}.sale_id = {sales.id}" }]
    dimensions: [{ name: id, sql: id, type: number, primary_key: true }]
    measures: [{ name: visits_count, type: count }]
views:
  - name: shown
    cubes:
      - { join_path: sales, includes: "*", excludes: [id] }
      - { join_path: sales.items, includes: [tag, items_count] }
      - { join_path: sales.shops, includes: [city] }
      - { join_path: visits, includes: [visits_count] }
    access_policy:
      - group: clerk
        row_level: { filters: [{ member: kind, operator: equals, values: [a] }] }
        member_level: { includes: "*", excludes: [secret] }
        member_masking: { includes: [secret] }
      - group: masked
        row_level: { filters: [{ member: kind, operator: equals, values: [a] }] }
        member_masking: { includes: [kind] }
      - group: dated
        row_level: { filters: [{ member: at, operator: beforeDate, values: ["2024-02-01"] }] }
`);

const year = `at >= '2024-01-01' AND at < '2024-05-01'`;
const month = `extract(month FROM date_trunc('month', at))`;

const answers: readonly [what: string, group: string, sql: string, rows: Value[][]][] = [
  [
    'rows',
    'clerk',
    'SELECT kind, city FROM shown ORDER BY 2',
    [
      ['a', 'Oslo'],
      ['a', 'Rome'],
    ],
  ],
  ['a total', 'clerk', 'SELECT MEASURE(total) FROM shown', [[50]]],
  ['keys alone', 'clerk', 'SELECT city FROM shown GROUP BY 1 ORDER BY 1', [['Oslo'], ['Rome']]],
  [
    'rows that a join repeats',
    'clerk',
    'SELECT tag, MEASURE(total), MEASURE(items_count) FROM shown GROUP BY 1 ORDER BY 1',
    [
      ['x', 10, 2],
      ['y', 40, 1],
    ],
  ],
  [
    'rows that a join repeats, for an aggregate of their own',
    'clerk',
    'SELECT tag, MEASURE(most) FROM shown GROUP BY 1 ORDER BY 1',
    [
      ['x', 10],
      ['y', 40],
    ],
  ],
  [
    'from two roots',
    'clerk',
    'SELECT kind, MEASURE(total), MEASURE(visits_count) FROM shown GROUP BY 1',
    [['a', 50, 2]],
  ],
  ['from the other root', 'clerk', 'SELECT MEASURE(visits_count) FROM shown', [[2]]],
  ['the keys of a masked figure', 'clerk', 'SELECT kind, MEASURE(secret) FROM shown GROUP BY 1', [['a', null]]],
  [
    'windows',
    'clerk',
    `SELECT ${month}, MEASURE(total_2m), MEASURE(sales_2m), MEASURE(kinds_2m) FROM shown WHERE ${year} GROUP BY date_trunc('month', at) ORDER BY 1`,
    [
      [1, 10, 1, 1],
      [2, 50, 2, 1],
      [3, 40, 1, 1],
    ],
  ],
  [
    'another time',
    'clerk',
    `SELECT ${month}, MEASURE(total_before) FROM shown WHERE ${year} GROUP BY 1 ORDER BY 1`,
    [
      [2, 10],
      [3, 40],
    ],
  ],
  [
    'stages',
    'clerk',
    `SELECT ${month}, MEASURE(of_all_months) FROM shown GROUP BY 1 ORDER BY 1`,
    [
      [1, 50],
      [2, 50],
    ],
  ],
  ['it reads what is there: a mask', 'masked', 'SELECT kind, MEASURE(total) FROM shown GROUP BY 1', [['hidden', 50]]],
  [
    'it reads what is there: a time that is moved for a figure',
    'dated',
    `SELECT ${month}, MEASURE(total_before) FROM shown WHERE ${year} GROUP BY 1 ORDER BY 1`,
    [[2, 30]],
  ],
];

describe.each(engineNames)('%s', (name) => {
  const engine = useEngine(name);
  beforeAll(async () => {
    await createTable(
      engine(),
      'sales',
      { id: 'bigint', kind: 'text', at: 'timestamp', amount: 'bigint', shop_id: 'bigint' },
      [
        [1, 'a', '2024-01-10 12:00:00', 10, 1],
        [2, 'b', '2024-01-20 12:00:00', 20, 1],
        [3, 'a', '2024-02-10 12:00:00', 40, 2],
        [4, 'b', '2024-03-10 12:00:00', 80, 3],
      ],
    );
    await createTable(engine(), 'shops', { id: 'bigint', city: 'text' }, [
      [1, 'Rome'],
      [2, 'Oslo'],
      [3, 'Bern'],
    ]);
    await createTable(engine(), 'items', { id: 'bigint', sale_id: 'bigint', tag: 'text' }, [
      [1, 1, 'x'],
      [2, 1, 'x'],
      [3, 2, 'x'],
      [4, 3, 'y'],
      [5, 4, 'z'],
    ]);
    await createTable(engine(), 'visits', { id: 'bigint', sale_id: 'bigint' }, [
      [1, 1],
      [2, 2],
      [3, 3],
      [4, null],
    ]);
  });
  test.each(answers)('%s', async (_, group, sql, rows) => {
    const subject = { ...anybody, groups: [group], seesUnprotected: false };
    const compiled = compileSql(sql, model, subject, engine().dialect);
    expect(await engine().run(compiled.sql, compiled.parameters)).toEqual(rows);
  });
});
