/** Access policies from YAML to rows: compiled, and run on DuckDB. */
import { describe, expect, test } from 'vitest';
import { compileSql } from '../src/compile-sql.ts';
import { duckdb } from '../src/dialects/duckdb.ts';
import type { AttributeValue } from '../src/policy/subject.ts';
import { load, merchant, openShop, platform, shopYaml } from './shop.ts';

const cube = (policy: string) =>
  load(`
cubes:
  - name: t
    sql_table: t
    dimensions:
      - { name: a, sql: a, type: string }
      - { name: b, sql: b, type: string }
      - { name: c, sql: c, type: string }
      - { name: id, sql: id, type: number, primary_key: true }
      - { name: at, sql: made_at, type: time }
      - { name: loud, sql: "upper({a})", type: string }
      - { name: masked, sql: a, type: string, mask: hidden }
      - { name: half, sql: a, type: string, mask: { sql: "left({CUBE}.a, 1)" } }
    measures:
      - { name: count, type: count }
      - { name: total, sql: "{id}", type: sum }
      - { name: ratio, sql: "{total} / {count}", type: number }
${policy}`);
const table = (rows: string) =>
  openShop(
    `CREATE TABLE t (a VARCHAR, b VARCHAR, c VARCHAR, id BIGINT, made_at TIMESTAMP); INSERT INTO t (a, b, c, id, made_at) VALUES ${rows};`,
  );
const filter = (values: string, operator = 'equals', member = 'a') =>
  `    access_policy: [{ group: "*", row_level: { filters: [{ member: ${member}, operator: ${operator}, values: ${values} }] } }]`;

describe('filters', () => {
  test('every operator runs, and a value is never SQL or a pattern', async () => {
    const shop = await table(
      `('100%', '', '', 1, '2024-01-30 23:59'), ('100x', '', '', 2, '2024-01-31 12:00'), (NULL, '', '', 3, NULL), ('it''s', '', '', 4, '2024-02-01')`,
    );
    const someone = merchant(null, {
      userAttributes: { ids: [1, 2], region: 'x' },
      securityContext: { shop: { id: 5 } },
    });
    const ids = async (operator: string, values: string, member = 'a') =>
      (await shop.ask('SELECT id FROM t ORDER BY 1', someone, cube(filter(values, operator, member))))
        .flat()
        .map(Number);
    expect(await ids('equals', `["it's"]`)).toEqual([4]);
    expect(await ids('equals', `["' OR TRUE --"]`)).toEqual([]);
    expect(await ids('notEquals', '["100%"]')).toEqual([2, 3, 4]);
    expect(await ids('contains', '["0%"]')).toEqual([1]);
    expect(await ids('notContains', '["0%"]')).toEqual([2, 3, 4]);
    expect(await ids('startsWith', '["100"]')).toEqual([1, 2]);
    expect(await ids('notStartsWith', '["100", IT]')).toEqual([3]);
    expect(await ids('endsWith', '["X"]')).toEqual([2]);
    expect(await ids('notEndsWith', '["X"]')).toEqual([1, 3, 4]);
    expect(await ids('set', '[]')).toEqual([1, 2, 4]);
    expect(await ids('notSet', '[]')).toEqual([3]);
    expect(await ids('gt', '[2]', 'id')).toEqual([3, 4]);
    expect(await ids('gte', '["2"]', 'id')).toEqual([2, 3, 4]);
    expect(await ids('lt', '[1.5]', 'id')).toEqual([1]);
    expect(await ids('lte', '["{ securityContext.shop.id }"]', 'id')).toEqual([1, 2, 3, 4]);
    expect(await ids('equals', '["{ userAttributes.ids }"]', 'id')).toEqual([1, 2]);
    expect(await ids('equals', '["{ userAttributes.region }"]', 'id')).toEqual([]);
    expect(await ids('inDateRange', '["2024-01-30", "2024-01-31"]', 'at')).toEqual([1, 2]);
    expect(await ids('notInDateRange', '["2024-01-30", "2024-01-31"]', 'at')).toEqual([4]);
    expect(await ids('beforeDate', '["2024-01-31"]', 'at')).toEqual([1]);
    expect(await ids('beforeOrOnDate', '["2024-01-31"]', 'at')).toEqual([1, 2]);
    expect(await ids('afterDate', '["2024-01-31"]', 'at')).toEqual([4]);
    expect(await ids('afterOrOnDate', '["2024-01-31 12:00"]', 'at')).toEqual([2, 4]);
  });

  test('a key of 19 digits, as a text, matches itself and not its neighbour', async () => {
    const shop = await table(`('x', '', '', 1234567890123456789, NULL), ('y', '', '', 1234567890123456788, NULL)`);
    const subject = merchant(null, { userAttributes: { x: '1234567890123456789' } });
    const model = cube(filter('["{ userAttributes.x }"]', 'equals', 'id'));
    expect(await shop.ask('SELECT a FROM t', subject, model)).toEqual([['x']]);
  });

  test('a text is compared as a text, also with a column of numbers', async () => {
    const shop = await openShop(
      'CREATE TABLE t (a BIGINT, b VARCHAR, c VARCHAR, id BIGINT, made_at TIMESTAMP); INSERT INTO t VALUES (7, NULL, NULL, 1, NULL);',
    );
    const rows = async (x: AttributeValue) =>
      (
        await shop.ask(
          'SELECT id FROM t',
          merchant(null, { userAttributes: { x } }),
          cube(filter('["{ userAttributes.x }"]')),
        )
      ).length;
    expect([await rows('7'), await rows('7.4'), await rows('07'), await rows(' 7'), await rows(7)]).toEqual([
      1, 0, 0, 0, 1,
    ]);
  });

  test('conditions decide whether an entry counts', async () => {
    const shop = await table(`('x', '', '', 1, NULL)`);
    const model = cube(`    access_policy:
      - group: "*"
        conditions: [{ if: "{ securityContext.active and not (userAttributes.plan in ['free', 'trial']) }" }]
        row_level: { allow_all: true }`);
    const sees = async (active: boolean | null, plan: string | null) => {
      const subject = merchant(null, { securityContext: { active }, userAttributes: { plan } });
      return shop.ask('SELECT a FROM t', subject, model).then(
        (rows) => rows.length,
        () => 'refused',
      );
    };
    expect(await sees(true, 'pro')).toBe(1);
    expect([
      await sees(true, 'free'),
      await sees(false, 'pro'),
      await sees(null, 'pro'),
      await sees(true, null),
    ]).toEqual(Array(4).fill('refused'));
  });
});

describe('masks', () => {
  const policy = `    access_policy:
      - { group: reader, row_level: { allow_all: true }, member_masking: { includes: [a, masked, half, total] } }
      - { group: owner, row_level: { filters: [{ member: id, operator: equals, values: ["{ userAttributes.id }"] }] } }`;
  const model = cube(policy);
  const rows = `('ann', '', '', 1, NULL), ('bob', '', '', 2, NULL), ('cat', '', '', 3, NULL)`;
  const reader = merchant(null, { groups: ['reader'] });
  const both = merchant(null, { groups: ['reader', 'owner'], userAttributes: { id: 2 } });

  test('a masked member is its mask, wherever it stands', async () => {
    const shop = await table(rows);
    const ask = (sql: string) => shop.ask(sql, reader, model);
    expect(await ask('SELECT id, a, masked, half, loud FROM t ORDER BY 1')).toEqual([
      [expect.anything(), null, 'hidden', 'a', null],
      [expect.anything(), null, 'hidden', 'b', null],
      [expect.anything(), null, 'hidden', 'c', null],
    ]);
    for (const where of [
      "a = 'ann'",
      'a IS NOT NULL',
      "loud LIKE 'A%'",
      "masked <> 'hidden'",
      "CASE WHEN a = 'ann' THEN true ELSE false END",
    ]) {
      expect(await ask(`SELECT id FROM t WHERE ${where}`), where).toEqual([]);
    }
    expect(await ask("SELECT id FROM t WHERE masked = 'hidden' AND a IS NULL")).toHaveLength(3);
    expect(await ask('SELECT a, MEASURE(count) FROM t GROUP BY 1')).toEqual([[null, '3']]);
    // Sorted by nothing but the mask: the tie is broken by what is seen.
    expect((await ask('SELECT id FROM t ORDER BY a DESC, id DESC')).flat().map(Number)).toEqual([3, 2, 1]);
    expect(await ask("SELECT count(x) FROM (SELECT a AS x FROM t WHERE coalesce(a, '?') = '?') AS y")).toEqual([['0']]);
    expect(await ask('SELECT MEASURE(total), MEASURE(ratio), MEASURE(count) FROM t')).toEqual([[null, null, '3']]);
    expect(await ask('SELECT a FROM t GROUP BY 1 HAVING MEASURE(total) > 0')).toEqual([]);
  });

  test('the value is shown in the rows that an entry grants in full', async () => {
    const shop = await table(rows);
    expect(await shop.ask('SELECT a, masked, half, loud FROM t ORDER BY id', both, model)).toEqual([
      [null, 'hidden', 'a', null],
      ['bob', 'bob', 'bob', 'BOB'],
      [null, 'hidden', 'c', null],
    ]);
    // A figure of rows of both kinds is not shown at all.
    expect(await shop.ask('SELECT MEASURE(total), MEASURE(count) FROM t', both, model)).toEqual([[null, '3']]);
    const owner = merchant(null, { groups: ['owner'], userAttributes: { id: 2 } });
    expect(await shop.ask('SELECT a, MEASURE(total) FROM t GROUP BY 1', owner, model)).toEqual([['bob', '2']]);
  });

  test("a view's mask stands above the cube's", async () => {
    const shop = await table(rows);
    const masking = (inView: string) =>
      load(`
cubes:
  - name: t
    sql_table: t
    dimensions: [{ name: id, sql: id, type: number, primary_key: true }, { name: a, sql: a, type: string }, { name: loud, sql: "upper({a})", type: string }]
views:
  - { name: v, cubes: [{ join_path: t, includes: "*" }], access_policy: [${inView}] }`);
    const masked = masking('{ group: "*", member_masking: { includes: [a] } }');
    expect(await shop.ask('SELECT a, loud FROM v ORDER BY id LIMIT 1', reader, masked)).toEqual([[null, null]]);
    const partly = masking(
      '{ group: "*", member_masking: { includes: [a] } }, { group: "*", row_level: { filters: [{ member: id, operator: gt, values: [2] }] } }',
    );
    expect(await shop.ask('SELECT a, loud FROM v ORDER BY id', reader, partly)).toEqual([
      [null, null],
      [null, null],
      ['cat', 'CAT'],
    ]);
  });
});

test('the row filter of a joined cube acts before the join: a hidden row is as if it did not exist', async () => {
  const shop = await openShop();
  // Order 2, the only one of the store, is of merchant 7, and the product of its item now is not.
  await shop.direct('UPDATE products SET merchant_id = 8 WHERE id = 2');
  expect(
    await shop.ask("SELECT category, MEASURE(revenue) FROM sales WHERE channel = 'store' GROUP BY 1", merchant(7)),
  ).toEqual([[null, '30.00']]);
  const hats = "SELECT MEASURE(revenue) FROM sales WHERE category = 'Hats'";
  expect(await shop.ask(hats, merchant(7))).toEqual([[null]]);
  expect(await shop.ask(hats, platform)).toEqual([['50.20']]);
});

test("a view's own filter acts on the joined row", async () => {
  const model = load(
    shopYaml.replace(
      'description: Orders with items',
      `description: Orders with items
    access_policy:
      - { group: merchant, row_level: { filters: [{ or: [{ member: category, operator: equals, values: [Hats] }, { member: quantity, operator: gt, values: [100] }] }] } }`,
    ),
  );
  const shop = await openShop();
  expect(
    await shop.ask(
      'SELECT channel, MEASURE(revenue), MEASURE(orders_count) FROM sales GROUP BY 1 ORDER BY 1',
      merchant(7),
      model,
    ),
  ).toEqual([
    ['store', '30.00', '1'],
    ['web', '20.20', '1'],
  ]);
  expect(() => compileSql('SELECT channel FROM sales', model, platform, duckdb)).toThrow('No view or cube');
});

test('what a member reads of another cube is taken from that cube: its entries have to cover it', async () => {
  const shop = await openShop();
  const split = (entries: string) =>
    load(shopYaml.replace(/(name: items\n[\s\S]*?access_policy:)[\s\S]*?(\n {2}- name: products)/, `$1${entries}$2`));
  const low = '{ filters: [{ member: id, operator: lt, values: [13] }] }';
  const model = split(`
      - { group: merchant, row_level: ${low}, member_level: { includes: [revenue] } }
      - { group: merchant, row_level: { allow_all: true }, member_level: { includes: [quantity] } }`);
  // Revenue is granted for items 11 and 12 only, whether named or read by a measure of orders.
  expect(await shop.ask('SELECT MEASURE(revenue) FROM sales', merchant(7), model)).toEqual([['30.30']]);
  expect(await shop.ask('SELECT MEASURE(order_value) FROM sales', merchant(7), model)).toEqual([[30.3 / 4]]);
  const none = split(`
      - { group: merchant, row_level: { allow_all: true }, member_level: { includes: [quantity] } }`);
  expect(await shop.ask('SELECT MEASURE(order_value) FROM sales', merchant(7), none)).toEqual([[null]]);
});
