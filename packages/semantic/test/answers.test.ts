import { beforeAll, describe, expect, test } from 'vitest';
import { load, merchant, openShop, platform, type Shop, shopYaml } from './shop.ts';

let shop: Shop;
beforeAll(async () => {
  shop = await openShop();
});

/** Question, then the answer for merchant 7, worked out by hand from the data in shop.ts. */
const answers: [name: string, sql: string, rows: unknown[][]][] = [
  ['a total', 'SELECT MEASURE(revenue) FROM sales', [['75.40']]],
  [
    'an aggregate that matches the measure',
    'SELECT SUM(revenue), MAX(largest), COUNT(orders_count), COUNT(DISTINCT buyers) FROM sales',
    [['75.40', '30.00', '4', '2']],
  ],
  [
    'months',
    "SELECT date_trunc('month', created_at) AS month, MEASURE(revenue) FROM sales GROUP BY 1 ORDER BY 1",
    [
      ['2024-01-01 00:00:00', '70.40'],
      ['2024-02-01 00:00:00', null],
      ['2024-03-01 00:00:00', '5.00'],
    ],
  ],
  [
    'an amount of the one side is not inflated by the many side',
    'SELECT category, MEASURE(shipping) FROM sales GROUP BY 1 ORDER BY 1',
    [
      ['Hats', '12.50'],
      ['Shoes', '5.00'],
      [null, '2.50'],
    ],
  ],
  [
    'nor is an average',
    'SELECT category, MEASURE(average_shipping) FROM sales GROUP BY 1 ORDER BY 1',
    [
      ['Hats', 6.25],
      ['Shoes', 5],
      [null, 2.5],
    ],
  ],
  [
    'a count on the one side counts rows once',
    'SELECT category, MEASURE(orders_count), MEASURE(web_orders) FROM sales GROUP BY 1 ORDER BY 1',
    [
      ['Hats', '2', '1'],
      ['Shoes', '1', '1'],
      [null, '2', '1'],
    ],
  ],
  [
    'two facts side by side: no cross product',
    'SELECT channel, MEASURE(revenue), MEASURE(refunded), MEASURE(orders_count) FROM sales GROUP BY channel ORDER BY channel',
    [
      ['store', '30.00', null, '1'],
      ['web', '40.40', '7.00', '2'],
      [null, '5.00', null, '1'],
    ],
  ],
  [
    'a fact by a dimension of another fact',
    'SELECT reason, MEASURE(revenue) FROM sales GROUP BY 1 ORDER BY 1',
    [
      ['broken', '40.40'],
      ['late', '40.40'],
      [null, '35.00'],
    ],
  ],
  ['a ratio is computed from its totals', 'SELECT MEASURE(order_value) FROM sales', [[18.85]]],
  ['a ratio over nothing is null', "SELECT MEASURE(order_value) FROM sales WHERE channel = 'fax'", [[null]]],
  [
    'a calculated measure beside one that needs a wider join',
    'SELECT category, MEASURE(order_value), MEASURE(refunded) FROM sales GROUP BY 1 ORDER BY 1',
    [
      ['Hats', 25.1, '7.00'],
      ['Shoes', 20.2, '7.00'],
      [null, 2.5, null],
    ],
  ],
  ['a sum of a constant does not count rows that a join made up', 'SELECT MEASURE(lines) FROM sales', [['5']]],
  [
    'counts of a joined cube count its rows once',
    'SELECT MEASURE(customers_count), MEASURE(refunds_count) FROM sales',
    [['2', '2']],
  ],
  [
    'a filtered measure, WHERE, and a sibling',
    "SELECT MEASURE(web_orders), MEASURE(orders_count) FROM sales WHERE created_at < '2024-02-01'",
    [['1', '2']],
  ],
  ['HAVING filters groups', 'SELECT channel FROM sales GROUP BY channel HAVING MEASURE(orders_count) > 1', [['web']]],
  [
    'WHERE and HAVING',
    "SELECT channel, MEASURE(orders_count) FROM sales WHERE created_at >= '2024-01-06' GROUP BY 1 HAVING MEASURE(orders_count) = 1 ORDER BY 1 NULLS FIRST",
    [
      [null, '1'],
      ['store', '1'],
      ['web', '1'],
    ],
  ],
  [
    'a filter on the many side',
    "SELECT MEASURE(orders_count), MEASURE(revenue), MEASURE(shipping) FROM sales WHERE category = 'Shoes'",
    [['1', '20.20', '5.00']],
  ],
  [
    'arithmetic over measures',
    'SELECT MEASURE(revenue) / MEASURE(orders_count) AS x, MEASURE(revenue) / 0 FROM sales',
    [[18.85, null]],
  ],
  [
    'one measure under two aliases, and an alias equal to a member',
    'SELECT MEASURE(sold) AS a, MEASURE(sold) AS channel FROM sales ORDER BY channel',
    [['8', '8']],
  ],
  [
    'order and limit',
    'SELECT channel, MEASURE(orders_count) FROM sales GROUP BY 1 ORDER BY 2 DESC, 1 DESC LIMIT 2',
    [
      ['web', '2'],
      [null, '1'],
    ],
  ],
  ['offset', 'SELECT channel FROM sales GROUP BY 1 ORDER BY 1 LIMIT 1 OFFSET 1', [['web']]],
  [
    'rows',
    'SELECT category, quantity FROM sales WHERE quantity > 1 ORDER BY quantity',
    [
      ['Hats', 2],
      ['Hats', 3],
    ],
  ],
  ['distinct', 'SELECT DISTINCT channel FROM sales ORDER BY channel', [['store'], ['web'], [null]]],
  [
    'null group kept, other order of nulls',
    'SELECT channel FROM sales GROUP BY 1 ORDER BY 1 DESC',
    [[null], ['web'], ['store']],
  ],
  [
    'operators',
    "SELECT channel FROM sales WHERE (channel LIKE 'w%' OR channel ILIKE '%ORE') AND channel NOT IN ('fax') AND NOT channel IS NULL GROUP BY 1 ORDER BY 1",
    [['store'], ['web']],
  ],
  [
    'case and functions',
    "SELECT CASE WHEN channel = 'web' THEN upper(channel) ELSE coalesce(channel, 'none') END AS c, MEASURE(orders_count) FROM sales GROUP BY 1 ORDER BY 1",
    [
      ['WEB', '2'],
      ['none', '1'],
      ['store', '1'],
    ],
  ],
  ['a LIKE pattern escapes with a backslash', "SELECT channel FROM sales WHERE channel LIKE 'w\\%' GROUP BY 1", []],
  [
    'between',
    "SELECT MEASURE(orders_count) FROM sales WHERE created_at BETWEEN '2024-01-05' AND '2024-01-31T23:30:00Z' AND quantity NOT BETWEEN 2 AND 3",
    [['1']],
  ],
  [
    'a quote in a value is a value',
    "SELECT MEASURE(orders_count) FROM sales WHERE channel = 'web'' OR 1=1 --'",
    [['0']],
  ],
  ['grouped by a literal there is one group', "SELECT 'a', MEASURE(orders_count) FROM sales GROUP BY 1", [['a', '4']]],
  ['also without a measure', "SELECT 'a' FROM sales GROUP BY 1", [['a']]],
  [
    'and with two inner queries',
    "SELECT 'a', MEASURE(shipping), MEASURE(sold) FROM sales GROUP BY 1",
    [['a', '15.00', '8']],
  ],
  ['no rows, no group', "SELECT 'a', MEASURE(orders_count) FROM sales WHERE channel = 'fax' GROUP BY 1", []],
  ['HAVING alone makes one group', 'SELECT 1 FROM sales HAVING true', [[1]]],
  [
    'negative numbers',
    'SELECT channel FROM sales WHERE quantity > -1.5 AND quantity - -.5 > 3 AND quantity > -3000000000',
    [['store']],
  ],
  [
    'BETWEEN with computed bounds',
    "SELECT channel FROM sales WHERE quantity * 2 BETWEEN quantity + 1 AND 5 AND '2024-01-06' NOT BETWEEN created_at AND '2024-01-31' GROUP BY 1",
    [[null]],
  ],
  ['qualified names', 'SELECT s.channel FROM sales AS s WHERE s.quantity = 3 GROUP BY s.channel', [['store']]],
];

describe('answers for one merchant', () => {
  test.each(answers)('%s', async (_name, sql, rows) => {
    expect(await shop.ask(sql, merchant(7))).toEqual(rows);
  });
});

test('the platform team sees every row', async () => {
  expect(await shop.ask('SELECT MEASURE(revenue), MEASURE(orders_count) FROM sales', platform)).toEqual(
    await shop.direct('SELECT (SELECT sum(amount) FROM items), (SELECT count(*) FROM orders)'),
  );
});

test('a dimension of type string is text, whatever its column is', async () => {
  const model = load(shopYaml.replace('{CUBE}.channel", type: string', '{CUBE}.id", type: string'));
  const ask = (sql: string) => shop.ask(sql, merchant(7), model);
  expect(await ask("SELECT upper(channel) FROM sales WHERE channel LIKE '1%' OR channel = 'x'")).toEqual([['1']]);
  expect(await ask("SELECT channel FROM sales WHERE channel = '1.4'")).toEqual([]);
});

test('comments and semicolons in the SQL of a model swallow nothing', async () => {
  const model = load(
    shopYaml
      .replace('sql_table: orders', 'sql: "SELECT * FROM orders; "')
      .replace('sql_table: items', 'sql: "SELECT * FROM items -- all"')
      .replace('sql: "{quantity}"', 'sql: "{quantity} -- pieces"')
      .replace('sql: "{CUBE}.channel"', 'sql: "{CUBE}.channel -- web or store"'),
  );
  expect(await shop.ask('SELECT channel, MEASURE(sold) FROM sales GROUP BY 1 ORDER BY 1', merchant(7), model)).toEqual(
    await shop.ask('SELECT channel, MEASURE(sold) FROM sales GROUP BY 1 ORDER BY 1', merchant(7)),
  );
});

test('each total beside others equals its total alone', async () => {
  const measures = ['revenue', 'refunded', 'orders_count', 'shipping', 'customers_count', 'sold'];
  const together = await shop.ask(
    `SELECT ${measures.map((name) => `MEASURE(${name})`).join(', ')} FROM sales`,
    platform,
  );
  const alone = await Promise.all(
    measures.map(async (name) => (await shop.ask(`SELECT MEASURE(${name}) FROM sales`, platform))[0]?.[0]),
  );
  expect(together).toEqual([alone]);
});
