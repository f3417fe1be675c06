/**
 * The property that stands over all: a query with the policies in it gives what the same query gives, without policies,
 * over a copy of the data in which only the permitted rows are left.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compileSql } from '../src/compile-sql.ts';
import { duckdb } from '../src/dialects/duckdb.ts';
import type { Subject } from '../src/policy/subject.ts';
import { SemanticError } from '../src/semantic-error.ts';
import { load, merchant, openShop, platform, shopYaml } from './shop.ts';

const tables = ['orders', 'items', 'products', 'refunds', 'customers'] as const;
const dimensions = ['channel', 'created_at', 'category', 'quantity', 'reason', 'customer_city'];
const measures = [
  'orders_count',
  'shipping',
  'average_shipping',
  'web_orders',
  'buyers',
  'order_value',
  'revenue',
  'sold',
  'largest',
  'lines',
  'refunded',
  'refunds_count',
  'customers_count',
];

/** Rows whose keys point anywhere: also to rows of the other merchant and to rows that do not exist. */
const id = fc.integer({ min: 1, max: 6 });
const nullable = (values: fc.Arbitrary<string>) =>
  fc.option(values, { freq: 4 }).map((value) => (value === null ? 'NULL' : `'${value}'`));
const owner = fc.constantFrom(7, 8);
const rows = (...columns: fc.Arbitrary<number | string>[]) => fc.array(fc.tuple(...columns), { maxLength: 8 });
const data = fc.record({
  orders: rows(
    owner,
    id,
    nullable(fc.constantFrom('web', 'store')),
    fc.constantFrom("'2024-01-05'", "'2024-01-31 23:30'", "'2024-02-01'"),
    fc.integer({ min: 0, max: 9 }),
  ),
  items: rows(id, owner, id, fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 99 })),
  products: rows(owner, nullable(fc.constantFrom('Shoes', 'Hats')), fc.constant(1)),
  refunds: rows(id, owner, nullable(fc.constantFrom('late', 'broken')), fc.integer({ min: 1, max: 99 })),
  customers: rows(owner, nullable(fc.constantFrom('Oslo', 'Rome'))),
});

const condition = fc.oneof(
  fc.constantFrom(
    "channel = 'web'",
    "category = 'Shoes'",
    "reason <> 'late'",
    'quantity > 1',
    "customer_city IN ('Oslo', 'Rome')",
    'category IS NULL',
    "created_at >= '2024-01-31'",
    "NOT channel = 'web'",
    'true',
  ),
);
const where = fc
  .array(condition, { maxLength: 3 })
  .chain((all) =>
    fc.constantFrom('AND', 'OR').map((glue) => (all.length === 0 ? '' : ` WHERE ${all.join(` ${glue} `)}`)),
  );
const query = fc
  .record({
    dims: fc.subarray(dimensions, { maxLength: 2 }),
    isMonthly: fc.boolean(),
    aggregates: fc.subarray(measures, { minLength: 1, maxLength: 4 }),
    where,
    having: fc.constantFrom('', ' HAVING MEASURE(orders_count) > 1', ' HAVING MEASURE(revenue) IS NOT NULL'),
    isGrouped: fc.boolean(),
  })
  .map(({ dims, isMonthly, aggregates, where, having, isGrouped }) => {
    const keys = dims.map((name) => (name === 'created_at' && isMonthly ? "date_trunc('month', created_at)" : name));
    if (!isGrouped && keys.length > 0) return `SELECT ${keys.join(', ')} FROM sales${where}`;
    const groupBy = keys.length === 0 ? '' : ` GROUP BY ${keys.map((_, index) => index + 1).join(', ')}`;
    return `SELECT ${[...keys, ...aggregates.map((name) => `MEASURE(${name})`)].join(', ')} FROM sales${where}${groupBy}${having}`;
  });

test.each([
  ['any data', { numRuns: 150 }],
  // An optimizer of the engine lost rows here; see openShop.
  ['what once was answered wrongly', { numRuns: 33, seed: -822128873 }],
])('a merchant gets what a copy with only its rows gives: %s', { timeout: 120_000 }, async (_name, runs) => {
  const shop = await openShop();
  const ask = async (sql: string, subject: Subject) =>
    (await shop.ask(sql, subject)).map((row) => JSON.stringify(row)).sort();
  let answered = 0;
  await fc.assert(
    fc.asyncProperty(data, fc.array(query, { minLength: 6, maxLength: 6 }), async (content, queries) => {
      const fill = tables.flatMap((table) => {
        const values = content[table].map((row, index) => `(${index + 1}, ${row.join(', ')})`);
        return [
          `DELETE FROM ${table}`,
          ...(values.length > 0 ? [`INSERT INTO ${table} VALUES ${values.join(', ')}`] : []),
        ];
      });
      await shop.direct(fill.join('; '));
      const seen: [sql: string, rows: string[]][] = [];
      for (const sql of queries) {
        try {
          seen.push([sql, await ask(sql, merchant(7))]);
        } catch (error) {
          if (!(error instanceof SemanticError)) throw error;
        }
      }
      await shop.direct(tables.map((table) => `DELETE FROM ${table} WHERE merchant_id <> 7`).join('; '));
      for (const [sql, answer] of seen) {
        answered += 1;
        expect(answer, sql).toEqual(await ask(sql, platform));
      }
    }),
    runs,
  );
  // Most queries are answered, or the property would hold by refusing.
  expect(answered).toBeGreaterThan(3 * runs.numRuns);
});

test('without the attribute, without a group, or with a value of another type there are no rows', async () => {
  const shop = await openShop();
  const nobodies: Subject[] = [
    merchant(null),
    merchant(7, { userAttributes: {} }),
    merchant(7, { userAttributes: { merchant_id: '' } }),
    merchant(7, { userAttributes: { merchant_id: [] } }),
    merchant(7, { userAttributes: { merchant_id: 'seven' } }),
    merchant(7, { userAttributes: { merchant_id: true } }),
    merchant(7, { userAttributes: { merchant_id: ['7', 'x'] } }),
    merchant(99),
  ];
  for (const subject of nobodies) {
    for (const sql of [
      'SELECT channel, category, reason, MEASURE(orders_count) FROM sales GROUP BY 1, 2, 3',
      'SELECT channel FROM sales',
      'SELECT DISTINCT customer_city FROM sales',
    ]) {
      expect(await shop.ask(sql, subject), `${sql} as ${JSON.stringify(subject.userAttributes)}`).toEqual([]);
    }
  }
  const model = load(shopYaml);
  for (const groups of [[], ['editors'], ['Merchant']]) {
    expect(() => compileSql('SELECT channel FROM sales', model, merchant(7, { groups }), duckdb)).toThrow(
      'No view or cube',
    );
  }
});
