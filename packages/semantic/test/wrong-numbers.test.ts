/** Questions that were once answered wrongly, each in its smallest form; expected answers by hand. */
import { beforeAll, describe, expect, test } from 'vitest';
import { compileSql } from '../src/compile-sql.ts';
import { createTable, engineNames, useEngine, type Value } from './engines.ts';
import { loadModel } from './load-model.ts';
import { anybody, sorted } from './plan/ask.ts';

const model = loadModel(`
cubes:
  - name: cities
    sql_table: cities
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true }
      - { name: city, sql: city, type: string }
  - name: customers
    sql_table: customers
    joins:
      - { name: cities, relationship: many_to_one, sql: "{CUBE}.city_id = {cities.id}" }
      - { name: orders, relationship: one_to_many, sql: "{CUBE}.id = {orders}.customer_id" }
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true }
      - { name: spent, sql: "{orders.amount}", type: number, sub_query: true, propagate_filters_to_sub_query: true }
  - name: depots
    sql_table: depots
    joins: [{ name: cities, relationship: many_to_one, sql: "{CUBE}.city_id = {cities.id}" }]
    dimensions: [{ name: id, sql: id, type: number, primary_key: true }]
  - name: orders
    sql_table: orders
    joins:
      - { name: customers, relationship: many_to_one, sql: "{CUBE}.customer_id = {customers.id}" }
      - { name: depots, relationship: many_to_one, sql: "{CUBE}.depot_id = {depots.id}" }
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true, public: true }
      - { name: at, sql: at, type: time }
    measures:
      - { name: amount, sql: amount, type: sum }
      - { name: so_far, sql: amount, type: sum, rolling_window: { trailing: unbounded } }
      - { name: before, sql: "{amount}", type: number, multi_stage: true, time_shift: [{ interval: 1 month, type: prior }] }
  - name: refunds
    sql_table: refunds
    joins: [{ name: customers, relationship: many_to_one, sql: "{CUBE}.customer_id = {customers.id}" }]
    dimensions: [{ name: id, sql: id, type: number, primary_key: true }]
    measures: [{ name: refunded, sql: amount, type: sum }]
  - name: events
    sql_table: events
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true, public: true }
      - { name: parent, sql: parent, type: number }
    measures: [{ name: last, sql: id, type: max }]
  - name: letters
    sql_table: events
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true, public: true, mask: 0 }
      - { name: parent, sql: parent, type: number }
    access_policy:
      - { group: "*", row_level: { filters: [{ member: parent, operator: lt, values: [3] }] } }
      - group: "*"
        member_level: { excludes: [id] }
        member_masking: { includes: [id] }
        row_level: { filters: [{ member: parent, operator: set }] }
views:
  - name: sales
    cubes:
      - { join_path: orders, includes: "*" }
      - { join_path: orders.customers, includes: [{ name: id, alias: customer }, spent] }
      - { join_path: orders.customers.cities, includes: [{ name: city, alias: home }] }
      - { join_path: orders.depots.cities, includes: [{ name: city, alias: depot }] }
      - { join_path: refunds, includes: [refunded] }
`);

/** Keys as they are handed out: of 63 bits, one beside the other. */
const [first, second, largest] = ['1712345678901234567', '1712345678901234568', '9223372036854775807'];

const answers: readonly [sql: string, rows: readonly (readonly Value[])[]][] = [
  // A whole number of 19 digits was a double.
  [`SELECT parent FROM events WHERE id = ${first}`, [[2]]],
  [`SELECT parent FROM events WHERE id IN (${second}, 5)`, [[1]]],
  [`SELECT parent FROM events WHERE id = ${largest}`, [[3]]],
  [`SELECT parent FROM events WHERE id >= ${largest} OR id < ${second}`, [[2], [3]]],
  [`SELECT parent, coalesce(nullif(id, ${first}), ${second}) AS x FROM events WHERE parent = 2`, [[2, second]]],
  [`SELECT parent FROM events WHERE id = CAST('${largest}' AS bigint)`, [[3]]],
  [`SELECT CAST('${largest.replace(/7$/, '8')}' AS bigint) AS x FROM events WHERE parent = 2`, [[null]]],
  // So was one that a mask stands beside.
  [`SELECT parent FROM letters WHERE id = ${first}`, [[2]]],
  [
    'SELECT parent, id FROM letters',
    [
      [1, second],
      [2, first],
      [3, 0],
    ],
  ],
  // Beside a subquery numbers were doubles on DuckDB.
  ['SELECT parent FROM events WHERE id = (SELECT MAX(x.id) FROM (SELECT id FROM events WHERE parent < 3) AS x)', [[1]]],
  [
    'SELECT parent, id - (SELECT MIN(x.id) FROM (SELECT id FROM events) AS x) AS more FROM events WHERE parent < 3',
    [
      [1, 1],
      [2, 0],
    ],
  ],
  // A filter that is told to a sub-query asked the customer's city where the query asks the depot's.
  ["SELECT customer, spent FROM sales WHERE depot = 'Rome' GROUP BY 1, 2", [[1, 20]]],
  ["SELECT customer, spent FROM sales WHERE home = 'Oslo' GROUP BY 1, 2", [[1, 30]]],
  // Each part of the query computed the sub-query under a filter of its own, so that they had no key in common.
  [
    "SELECT date_trunc('month', at) AS m, spent, MEASURE(amount), MEASURE(so_far) FROM sales WHERE at >= '2024-02-01' AND at < '2024-03-01' GROUP BY 1, 2",
    [
      ['2024-02-01 00:00:00', 20, 20, 30],
      ['2024-02-01 00:00:00', 40, 40, 40],
    ],
  ],
  [
    "SELECT date_trunc('day', at) AS d, spent, MEASURE(amount), MEASURE(before) FROM sales WHERE at >= '2024-02-01' AND at < '2024-02-06' AND customer = 1 GROUP BY 1, 2",
    [['2024-02-05 00:00:00', 20, 20, 10]],
  ],
  // A refund has a customer's city and no depot's.
  [
    'SELECT home, MEASURE(refunded), MEASURE(amount) FROM sales GROUP BY 1',
    [
      ['Oslo', 7, 30],
      ['Rome', null, 40],
    ],
  ],
];

describe.each(engineNames)('%s', (name) => {
  const engine = useEngine(name);
  beforeAll(async () => {
    await createTable(engine(), 'cities', { id: 'integer', city: 'text' }, [
      [1, 'Oslo'],
      [2, 'Rome'],
    ]);
    await createTable(engine(), 'customers', { id: 'integer', city_id: 'integer' }, [
      [1, 1],
      [2, 2],
    ]);
    await createTable(engine(), 'depots', { id: 'integer', city_id: 'integer' }, [
      [1, 1],
      [2, 2],
    ]);
    await createTable(
      engine(),
      'orders',
      { id: 'integer', customer_id: 'integer', depot_id: 'integer', amount: 'integer', at: 'timestamp' },
      [
        [1, 1, 1, 10, '2024-01-05 10:00:00'],
        [2, 1, 2, 20, '2024-02-05 10:00:00'],
        [3, 2, 1, 40, '2024-02-07 10:00:00'],
      ],
    );
    await createTable(engine(), 'refunds', { id: 'integer', customer_id: 'integer', amount: 'integer' }, [[1, 1, 7]]);
    await createTable(engine(), 'events', { id: 'bigint', parent: 'integer' }, [
      [second, 1],
      [first, 2],
      [largest, 3],
    ]);
  });
  const ask = async (sql: string) => {
    const compiled = compileSql(sql, model, anybody, engine().dialect);
    return sorted(await engine().run(compiled.sql, compiled.parameters));
  };

  test.each(answers)('%s', async (sql, rows) => {
    expect(await ask(sql)).toEqual(sorted(rows));
  });

  test('a fact is not asked by the other of two ways to one cube', async () => {
    await expect(ask('SELECT depot, MEASURE(refunded) FROM sales GROUP BY 1')).rejects.toThrow(
      'refunded cannot be asked by depot: joins lead there in more than one way.',
    );
  });

  test('whole numbers of two columns stay what they are in EXCEPT', async () => {
    const rows = await ask(
      'SELECT id FROM events WHERE parent < 3 EXCEPT SELECT x.id + 1 AS id FROM (SELECT id FROM events) AS x',
    );
    expect(rows).toEqual([[first]]);
  });
});
