import { expect, test } from 'vitest';
import { compileSql } from '../src/compile-sql.ts';
import { duckdb } from '../src/dialects/duckdb.ts';
import { explainSql } from '../src/explain-sql.ts';
import { load, merchant, shopYaml } from './shop.ts';

const model = load(shopYaml);
const explain = (sql: string, subject = merchant(7)) => explainSql(sql, model, subject, duckdb);

test('a query that compiles: its SQL, its plan in words, and the policies consulted', () => {
  const sql = "SELECT channel, MEASURE(revenue) FROM sales WHERE customer_city = 'Oslo' GROUP BY 1 LIMIT 3";
  const { outcome, policies, notes } = explain(sql);
  if (outcome.kind !== 'compiled') throw new Error(outcome.message);
  const { compiled, plan } = outcome;
  expect(compiled).toEqual(compileSql(sql, model, merchant(7), duckdb));
  expect(plan).toEqual([
    'groups of view sales',
    '  by channel',
    '  measures revenue',
    '  rows are filtered by customer_city',
    '  from orders, joined orders → items (one to many), orders → customers (many to one)',
    expect.stringMatching(/^ {2}(ordered, )?at most 3$/),
  ]);
  const consulted = policies.filter(({ type }) => type === 'cube').map(({ name, taken, rows }) => [name, taken, rows]);
  expect(consulted.sort()).toEqual([
    ['customers', ['city'], 'rows with merchant_id equals 7'],
    ['items', ['revenue'], 'rows with merchant_id equals 7'],
    ['orders', ['channel'], 'rows with merchant_id equals 7'],
  ]);
  expect(notes).toEqual([]);
});

test('a query of queries', () => {
  const { outcome } = explain(
    'SELECT avg(revenue) FROM (SELECT channel, MEASURE(revenue) AS revenue FROM sales GROUP BY 1) AS x',
  );
  expect(outcome.kind === 'compiled' && outcome.plan).toEqual([
    'groups computed from the results of',
    '  groups of view sales',
    '    by channel',
    '    measures revenue',
    '    from orders, joined orders → items (one to many)',
  ]);
});

test('a query that is refused: what the user is told, and why', () => {
  const { outcome, policies, notes } = explain('SELECT cost FROM sales');
  expect(outcome).toMatchObject({ kind: 'refused', code: 'MEMBER_NOT_FOUND' });
  expect(policies.map(({ name }) => name)).toEqual(['sales', 'products']);
  expect(policies[1]?.entries).toMatchObject([
    { audience: 'group merchant', counts: false, reasons: ['it does not grant cost'] },
    { audience: 'group platform_team', counts: false, reasons: ['the user is in none of these groups'] },
  ]);
  expect(notes).toEqual([]);
  expect(explain('SELECT channel FROM orders').notes).toEqual(['cube orders is not public: nobody can ask it by name']);
});
