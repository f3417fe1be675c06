/**
 * Whole numbers, decimals and doubles that meet by what a model says, not the query: in measures and dimensions by `case`, under masks, in
 * dimensions by a subquery and where facts are joined. The answers are worked out by hand.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { createTable, engineNames, useEngine, type Value } from './engines.ts';
import { loadModel } from './load-model.ts';
import { merchant } from './shop.ts';
import { ask } from './sql/shop-engines.ts';

const columns = ['small', 'big', 'price', 'rate', 'weight'];
const shownFrom = 2;
const masks: readonly (readonly [name: string, mask: string])[] = [
  ['zero', '0'],
  ['minus', '-1'],
  ['half', '0.5'],
  ['long', '12345678901'],
  ['by_sql', '{ sql: "{CUBE}.small" }'],
  ['by_null', '{ sql: "NULL" }'],
  ['by_double', '{ sql: "{CUBE}.weight" }'],
];
const masked = columns.flatMap((column) =>
  masks.map(
    ([name, mask]) => `{ name: ${column}_${name}, sql: "{CUBE}.${column}", type: number, public: true, mask: ${mask} }`,
  ),
);
const choice = (name: string, first: string, second: string, otherwise: string, more = ''): string =>
  `{ name: ${name}, type: number, multi_stage: true, ${more}
        case: { switch: by, when: [{ value: a, sql: "{${first}}" }, { value: b, sql: "{${second}}" }], else: { sql: "{${otherwise}}" } } }`;
const model = loadModel(`
cubes:
  - name: t
    sql_table: t
    joins: [{ name: u, relationship: many_to_one, sql: "{CUBE}.big = {u}.id" }]
    dimensions:
      - { name: id, sql: "{CUBE}.id", type: number, primary_key: true, public: true }
      - { name: by, type: switch, values: [a, b, c] }
      - { name: chosen, type: number, case: { when: [{ sql: "{CUBE}.id = 1", label: { sql: "{CUBE}.big" } },
          { sql: "{CUBE}.id = 2", label: { sql: "{CUBE}.price" } }], else: { label: { sql: "0" } } } }
      - ${masked.join('\n      - ')}
    measures:
      - ${columns.map((column) => `{ name: ${column}s, sql: "{CUBE}.${column}", type: sum }`).join('\n      - ')}
      - { name: n, type: count }
      - { name: mean, sql: "{CUBE}.price", type: avg }
      - ${choice('mixed', 'prices', 'weights', 'n')}
      - ${choice('exact', 'prices', 'rates', 'bigs')}
      - ${choice('averaged', 'mean', 'prices', 'smalls')}
      - ${choice('formula', 'prices} * {n', 'prices} / {n', 'weights} - {n')}
      - { name: most, type: max, multi_stage: true, sql: "{mixed}", add_group_by: [id] }
    access_policy:
      - group: all
        row_level: { allow_all: true }
      - group: some
        member_level: { includes: [id, by, chosen] }
        member_masking: { includes: "*" }
        row_level: { allow_all: true }
      - group: some
        row_level: { filters: [{ member: id, operator: equals, values: ["${shownFrom}"] }] }
  - name: u
    sql_table: u
    dimensions:
      - { name: id, sql: "{CUBE}.id", type: number, primary_key: true, public: true }
      - { name: sold, type: number, sub_query: true, sql: "{t.prices}" }
    joins: [{ name: t, relationship: one_to_many, sql: "{CUBE}.id = {t}.big" }]
    measures: [{ name: n, type: count }, { name: heights, sql: "{CUBE}.height", type: sum }]
    access_policy: [{ group: "*", row_level: { allow_all: true } }]
  - name: k
    sql_table: k
    dimensions:
      - { name: id, sql: "{CUBE}.id", type: number, primary_key: true, public: true }
      - ${masks.map(([name, mask]) => `{ name: id_${name}, sql: "{CUBE}.id", type: number, mask: ${mask} }`).join('\n      - ')}
    access_policy:
      - { group: some, member_level: { includes: [id] }, member_masking: { includes: "*" }, row_level: { allow_all: true } }
      - { group: some, row_level: { filters: [{ member: id, operator: gt, values: ["2"] }] } }
`);
const largest = '9223372036854775807';
const rows: readonly (readonly Value[])[] = [
  // id, small, big, price, rate, weight
  [1, 1, largest, '1.10', '1.1005', 0.25],
  [2, 2, '2', '2.25', '2.2500', 2.5],
  [3, -3, '2', '-0.01', '2.2550', 0.5],
];
const longKey = '9223372036854775806';
const all = merchant(null, { groups: ['all'] });
const some = merchant(null, { groups: ['some'] });

describe.each(engineNames)('%s', (name) => {
  const engine = useEngine(name);
  beforeAll(async () => {
    const types = {
      id: 'integer',
      small: 'integer',
      big: 'bigint',
      price: 'decimal(12,2)',
      rate: 'decimal(18,4)',
      weight: 'double',
    } as const;
    await createTable(engine(), 't', types, rows);
    await createTable(engine(), 'u', { id: 'integer', height: 'double' }, [
      [2, 1.5],
      [5, 0.5],
    ]);
    // In ClickHouse a column without signs, which have no kind in common with a number below 0.
    if (name === 'clickhouse') {
      await engine().exec('CREATE TABLE k (id UInt64, small Int32, weight Float64) ENGINE = MergeTree ORDER BY id');
      await engine().exec(`INSERT INTO k VALUES (1, 1, 0.5), (${longKey}, 1, 0.5)`);
      return;
    }
    await createTable(engine(), 'k', { id: 'bigint', small: 'integer', weight: 'double' }, [
      [1, 1, 0.5],
      [longKey, 1, 0.5],
    ]);
  });

  test('measures by a switch', async () => {
    const sql =
      'SELECT by, MEASURE(mixed), MEASURE(exact), MEASURE(averaged), MEASURE(formula) FROM t WHERE id < 3 GROUP BY by ORDER BY by';
    expect(await ask(engine(), sql, model, all)).toEqual([
      ['a', 3.35, 3.35, 1.675, 6.7],
      ['b', 2.75, 3.3505, 3.35, 1.675],
      ['c', 2, '9223372036854775809', 3, 0.75],
    ]);
  });

  test('a switch that the query fixes', async () => {
    const sql = "SELECT id, MEASURE(mixed), MEASURE(exact) FROM t WHERE by = 'b' GROUP BY id ORDER BY id";
    expect(await ask(engine(), sql, model, all)).toEqual([
      [1, 0.25, 1.1005],
      [2, 2.5, 2.25],
      [3, 0.5, 2.255],
    ]);
  });

  test('a stage over a switch', async () => {
    const sql = 'SELECT by, MEASURE(most) FROM t GROUP BY by ORDER BY by';
    expect(await ask(engine(), sql, model, all)).toEqual([
      ['a', 2.25],
      ['b', 2.5],
      ['c', 1],
    ]);
  });

  test('dimensions by case', async () => {
    const sql = 'SELECT chosen FROM t ORDER BY id';
    expect(await ask(engine(), sql, model, all)).toEqual([[largest], [2.25], [0]]);
  });

  test.each(columns)('masks beside %s', async (column) => {
    const names = masks.map(([mask]) => `${column}_${mask}`);
    const sql = `SELECT ${names.join(', ')} FROM t ORDER BY id`;
    const value = (at: number) => rows[at]?.[1 + columns.indexOf(column)] ?? null;
    const shown = Number(value(1));
    expect(await ask(engine(), sql, model, some)).toEqual([
      [0, -1, 0.5, 12345678901, 1, null, 0.25],
      names.map(() => shown),
      [0, -1, 0.5, 12345678901, -3, null, 0.5],
    ]);
  });

  test('keys that doubles do not hold are themselves beside every mask', async () => {
    const keys = masks.map(([mask]) => `id_${mask}`).filter((key) => key !== 'id_by_double');
    const sql = `SELECT ${keys.join(', ')} FROM k WHERE id = ${longKey}`;
    expect(await ask(engine(), sql, model, some)).toEqual([keys.map(() => longKey)]);
  });

  test('a dimension by a subquery', async () => {
    const sql = 'SELECT sold, coalesce(sold, 0.5), sold + MEASURE(heights) FROM u GROUP BY id, sold ORDER BY id';
    expect(await ask(engine(), sql, model, all)).toEqual([
      [2.24, 2.24, 3.74],
      [null, 0.5, null],
    ]);
  });
});
