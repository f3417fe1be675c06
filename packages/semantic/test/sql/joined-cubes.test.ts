/** Cubes beside each other in FROM: joined as the model declares, never by every combination of rows. */
import { beforeAll, describe, expect, test } from 'vitest';
import { compileSql } from '../../src/compile-sql.ts';
import { duckdb } from '../../src/dialects/duckdb.ts';
import { SemanticError } from '../../src/semantic-error.ts';
import { engineNames, useEngine, type Value } from '../engines.ts';
import { load, merchant, shopYaml } from '../shop.ts';
import { ask, createShop } from './shop-engines.ts';

/** As in shop.ts, with public cubes. */
const model = load(shopYaml.replaceAll('\n    public: false', ''));
const refusal = (sql: string, subject = merchant(7)): SemanticError => {
  try {
    compileSql(sql, model, subject, duckdb);
  } catch (error) {
    if (error instanceof SemanticError) return error;
    throw error;
  }
  throw new Error(`not refused: ${sql}`);
};

const answers: [name: string, sql: string, rows: Value[][]][] = [
  [
    'measures of one by a dimension of the other',
    'SELECT customers.city, MEASURE(orders.orders_count) AS n FROM orders CROSS JOIN customers GROUP BY 1 ORDER BY 1',
    [
      ['Oslo', 2],
      ['Rome', 1],
      [null, 1],
    ],
  ],
  [
    'a comma is the same; aliases; names that only one of them has stand alone',
    'SELECT c.city, MEASURE(o.shipping) AS s, MEASURE(orders_count) AS n FROM orders AS o, customers AS c GROUP BY city ORDER BY 1',
    [
      ['Oslo', 7.5, 2],
      ['Rome', 7.5, 1],
      [null, null, 1],
    ],
  ],
  [
    'each measure over the rows of its own cube: nothing is inflated (1, 4)',
    'SELECT MEASURE(orders.shipping), MEASURE(items.revenue), MEASURE(customers.customers_count) FROM orders, items, customers',
    [[15, 75.4, 2]],
  ],
  [
    'within a plain SELECT, and with a window',
    `SELECT MAX(place) FROM (SELECT city, rank() OVER (ORDER BY MEASURE(revenue) DESC) AS place FROM orders
       CROSS JOIN items CROSS JOIN customers GROUP BY city) AS ranked`,
    [[3]],
  ],
  [
    'a column of FROM goes before a selected one of the same name in GROUP BY',
    `SELECT upper(channel) IS NULL AS channel, MEASURE(orders_count) AS n FROM orders CROSS JOIN customers WHERE city = 'Oslo'
     OR city IS NULL OR city = 'Rome' GROUP BY channel ORDER BY 2, 1`,
    [
      [false, 1],
      [true, 1],
      [false, 2],
    ],
  ],
  [
    'rows',
    'SELECT channel, city FROM orders CROSS JOIN customers WHERE city IS NOT NULL ORDER BY created_at',
    [
      ['web', 'Oslo'],
      ['store', 'Rome'],
      ['web', 'Oslo'],
    ],
  ],
];

describe.each(engineNames)('%s', (name) => {
  const engine = useEngine(name);
  beforeAll(async () => createShop(engine()));
  test.each(answers)('%s', async (_name, sql, rows) => {
    expect(await ask(engine(), sql, model, merchant(7))).toEqual(rows);
  });
});

test.each([
  [
    'SELECT 1 FROM orders JOIN customers ON orders.customer_id = customers.id',
    'SQL_NOT_SUPPORTED',
    /CROSS JOIN without ON/,
  ],
  ['SELECT 1 FROM orders LEFT JOIN customers ON true', 'SQL_NOT_SUPPORTED', /CROSS JOIN without ON/],
  ['SELECT 1 FROM orders CROSS JOIN orders AS o', 'SQL_NOT_SUPPORTED', /view with two join paths/],
  ['SELECT 1 FROM orders CROSS JOIN sales', 'SQL_NOT_SUPPORTED', /views join their cubes/],
  ['SELECT id FROM orders CROSS JOIN items', 'SQL_INVALID', /orders\.id or items\.id/],
  ['SELECT city, reason FROM customers CROSS JOIN refunds', 'QUERY_NOT_PLANNABLE', /./],
  ['SELECT orders.merchant_id FROM orders CROSS JOIN items', 'MEMBER_NOT_FOUND', /./],
] as const)('%s: %s', (sql, code, text) => {
  const error = refusal(sql);
  expect([error.code, `${error.message} ${error.hint}`]).toEqual([code, expect.stringMatching(text)]);
});

test('a cube that a user sees nothing of does not exist beside others either', () => {
  const hidden = refusal('SELECT 1 FROM orders CROSS JOIN customers', merchant(7, { groups: ['nobody'] }));
  expect([hidden.code, hidden.hint]).toEqual(['RELATION_NOT_FOUND', '']);
});
