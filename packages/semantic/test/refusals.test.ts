import { beforeAll, describe, expect, test } from 'vitest';
import { compileSql } from '../src/compile-sql.ts';
import { duckdb } from '../src/dialects/duckdb.ts';
import { SemanticError } from '../src/semantic-error.ts';
import { load, merchant, openShop, platform, type Shop, shopYaml } from './shop.ts';

let shop: Shop;
beforeAll(async () => {
  shop = await openShop();
});

const model = load(shopYaml);
const refusal = (sql: string, subject = merchant(7), from = model): SemanticError => {
  try {
    compileSql(sql, from, subject, duckdb);
  } catch (error) {
    if (error instanceof SemanticError) return error;
    throw error;
  }
  throw new Error(`not refused: ${sql.slice(0, 100)}`);
};

const refused: [code: string, sql: string, text: RegExp][] = [
  ['SQL_INVALID', '', /empty/],
  ['SQL_INVALID', '-- nothing', /empty/],
  ['SQL_INVALID', "SELECT 'a FROM sales", /unterminated/],
  ['SQL_INVALID', 'SELECT FROM WHERE', /syntax error/],
  ['SQL_INVALID', 'SELECT channel FROM sales GROUP BY 2', /GROUP BY 2/],
  ['SQL_INVALID', 'SELECT DISTINCT channel FROM sales ORDER BY customer_city', /DISTINCT/],
  ['SQL_INVALID', 'SELECT channel FROM sales ORDER BY 1.0', /ORDER BY 1.0/],
  ['SQL_INVALID', 'SELECT channel FROM sales WHERE quantity = 1\0 OR true', /NUL/],
  ['SQL_NOT_SUPPORTED', 'SELECT 1; SELECT 2', /2 statements/],
  ['SQL_NOT_SUPPORTED', "SELECT b'101' FROM sales", /bit string/],
  ['SQL_NOT_SUPPORTED', "SELECT channel FROM sales WHERE channel LIKE 'w\\'", /ends with a backslash/],
  ['RELATION_NOT_FOUND', 'SELECT orders.* FROM sales', /"orders"/],
  [
    'SQL_NOT_SUPPORTED',
    'SELECT channel FROM sales WHERE quantity = 0.99999999999999999999999999999999999999',
    /number 0.9/,
  ],
  ['SQL_NOT_SUPPORTED', 'DROP TABLE orders', /Drop/],
  ['SQL_NOT_SUPPORTED', 'DELETE FROM orders', /Delete/],
  ['SQL_NOT_SUPPORTED', "COPY orders TO '/tmp/x'", /Copy/],
  ['SQL_NOT_SUPPORTED', 'SET threads = 1', /VariableSet/],
  ['SQL_NOT_SUPPORTED', 'EXPLAIN SELECT channel FROM sales', /Explain/],
  ['SQL_NOT_SUPPORTED', 'SELECT channel INTO x FROM sales', /INTO/],
  ['SQL_NOT_SUPPORTED', 'SELECT channel FROM sales FOR UPDATE', /FOR UPDATE/],
  ['SQL_NOT_SUPPORTED', 'SELECT 1', /no FROM/],
  ['SQL_NOT_SUPPORTED', "SELECT * FROM read_csv('/etc/passwd')", /function in FROM/],
  ['RELATION_NOT_FOUND', 'SELECT * FROM sales, orders', /"orders"/],
  ['RELATION_NOT_FOUND', 'SELECT * FROM sales JOIN orders ON true', /"orders"/],
  ['SQL_NOT_SUPPORTED', 'SELECT * FROM main.orders', /schema/],
  ['SQL_NOT_SUPPORTED', 'SELECT * FROM ONLY sales', /ONLY/],
  ['SQL_NOT_SUPPORTED', 'SELECT channel FROM sales TABLESAMPLE SYSTEM (1)', /TABLESAMPLE/],
  ['SQL_NOT_SUPPORTED', 'WITH sales AS (SELECT 1) SELECT * FROM sales', /no FROM/],
  ['SQL_NOT_SUPPORTED', 'VALUES (1)', /VALUES/],
  ['SQL_NOT_SUPPORTED', "SELECT getenv('HOME') FROM sales", /function getenv/],
  ['SQL_NOT_SUPPORTED', "SELECT current_setting('x') FROM sales", /function current_setting/],
  ['SQL_NOT_SUPPORTED', 'SELECT pg_catalog.lower(channel) FROM sales', /pg_catalog.lower/],
  ['SQL_NOT_SUPPORTED', 'SELECT current_user FROM sales', /system value/],
  ['SQL_NOT_SUPPORTED', 'SELECT channel::regclass FROM sales', /cast to regclass/],
  ['SQL_NOT_SUPPORTED', 'SELECT $1 FROM sales', /parameter/],
  ['SQL_NOT_SUPPORTED', 'SELECT channel FROM sales WHERE channel ~ $$a$$', /operator ~/],
  ['SQL_NOT_SUPPORTED', "SELECT channel FROM sales WHERE channel LIKE 'ab' ESCAPE 'b'", /escape character/],
  ['SQL_NOT_SUPPORTED', "SELECT channel FROM sales WHERE channel SIMILAR TO 'a'", /SIMILAR|operator/],
  ['SQL_NOT_SUPPORTED', 'SELECT SUM(revenue) FILTER (WHERE true) FROM sales', /FILTER/],
  ['SQL_NOT_SUPPORTED', 'SELECT DISTINCT ON (channel) channel FROM sales', /DISTINCT ON/],
  ['SQL_NOT_SUPPORTED', 'SELECT channel FROM sales ORDER BY channel FETCH FIRST 1 ROWS WITH TIES', /WITH TIES/],
  ['SQL_NOT_SUPPORTED', 'SELECT channel FROM sales LIMIT 1 + 1', /LIMIT/],
  ['SQL_NOT_SUPPORTED', 'SELECT channel FROM sales LIMIT -1', /LIMIT/],
  ['SQL_NOT_SUPPORTED', 'SELECT channel FROM sales GROUP BY ROLLUP (channel)', /ROLLUP/],
  ['SQL_NOT_SUPPORTED', "SELECT date_trunc('eon', created_at) FROM sales", /eon/],
  ['SQL_NOT_SUPPORTED', "SELECT date_trunc('day', created_at, 'UTC') FROM sales", /date_trunc/],
  ['SQL_NOT_SUPPORTED', 'SELECT channel FROM sales WHERE quantity = 1e5', /number 1e5/],
  ['RELATION_NOT_FOUND', 'SELECT * FROM sale', /No view or cube "sale"/],
  ['RELATION_NOT_FOUND', 'SELECT * FROM orders', /"orders"/],
  ['RELATION_NOT_FOUND', 'SELECT orders.channel FROM sales', /"orders"/],
  ['MEMBER_NOT_FOUND', 'SELECT chanel FROM sales', /No member "chanel" in sales/],
  ['MEMBER_NOT_FOUND', 'SELECT merchant_id FROM sales', /"merchant_id"/],
  ['MEASURE_MISUSED', 'SELECT revenue FROM sales', /is a measure/],
  ['MEASURE_MISUSED', 'SELECT MEASURE(channel) FROM sales', /is a dimension/],
  ['MEASURE_MISUSED', 'SELECT AVG(revenue) FROM sales', /not a AVG/],
  ['MEASURE_MISUSED', 'SELECT SUM(DISTINCT revenue) FROM sales', /DISTINCT/],
  ['MEASURE_MISUSED', 'SELECT MEASURE(SUM(revenue)) FROM sales', /inside another/],
  ['MEASURE_MISUSED', 'SELECT SUM(quantity * 2) FROM sales', /expression/],
  ['MEASURE_MISUSED', 'SELECT COUNT(*) FROM sales', /does not say/],
  ['MEASURE_MISUSED', 'SELECT channel FROM sales WHERE MEASURE(revenue) > 1', /WHERE/],
  ['MEASURE_MISUSED', 'SELECT MEASURE(revenue) FROM sales GROUP BY 1', /grouped by/],
  ['GROUP_BY_REQUIRED', 'SELECT channel, MEASURE(revenue) FROM sales', /channel/],
  ['GROUP_BY_REQUIRED', 'SELECT MEASURE(revenue) FROM sales ORDER BY channel', /channel/],
  ['TYPE_MISMATCH', 'SELECT channel FROM sales WHERE channel = 1', /string and number/],
  ['TYPE_MISMATCH', "SELECT channel FROM sales WHERE quantity = '1'", /number and string/],
  ['TYPE_MISMATCH', "SELECT channel FROM sales WHERE created_at > 'soon'", /not a time/],
  ['TYPE_MISMATCH', "SELECT channel FROM sales WHERE created_at > '2024-02-31'", /not a time/],
  ['TYPE_MISMATCH', 'SELECT channel FROM sales WHERE channel', /WHERE/],
  ['TYPE_MISMATCH', "SELECT date_trunc('day', channel) FROM sales", /date_trunc/i],
  ['TYPE_MISMATCH', 'SELECT lower(quantity) FROM sales', /lower/i],
  ['TYPE_MISMATCH', "SELECT channel FROM sales WHERE channel IN ('a', NULL)", /NULL/],
  ['QUERY_NOT_PLANNABLE', 'SELECT category, reason FROM sales', /combination/],
];

describe('refused with a code and words', () => {
  test.each(refused)('%s: %s', (code, sql, text) => {
    const error = refusal(sql);
    expect(error.code).toBe(code);
    expect(error.message).toMatch(text);
  });

  test('a near name is offered', () => {
    expect(refusal('SELECT chanel FROM sales').hint).toBe('Closest: channel');
    expect(refusal('SELECT * FROM sale').hint).toBe('Closest: sales');
    expect(refusal('SELECT touchpoints FROM sales').hint).toBe('Closest: channel');
  });

  test('a name that needs quotes is offered with quotes', () => {
    const camel = load(
      shopYaml
        .replace('name: category,', 'name: categoryName,')
        .replace('[category,', '[categoryName,')
        .replace('name: sold,', 'name: itemsSold,')
        .replace('revenue, sold,', 'revenue, itemsSold,'),
    );
    for (const [sql, hint] of [
      ['SELECT categoryName FROM sales', 'Closest: "categoryName"'],
      ['SELECT "itemsSold" FROM sales', 'Write MEASURE("itemsSold").'],
      ['SELECT AVG("itemsSold") FROM sales', 'Write MEASURE("itemsSold").'],
      ['SELECT "categoryName", MEASURE("itemsSold") FROM sales', 'Add "categoryName" to GROUP BY.'],
      ['SELECT x.channel FROM sales AS "S"', 'Closest: "S"'],
    ] as const) {
      expect(refusal(sql, merchant(7), camel).hint).toBe(hint);
    }
    const right = 'SELECT "categoryName", MEASURE("itemsSold") FROM sales GROUP BY "categoryName"';
    expect(() => compileSql(right, camel, merchant(7), duckdb)).not.toThrow();
  });

  test('what cannot be planned is told without the names of hidden cubes and members', () => {
    const noKeys = load(
      shopYaml
        .replaceAll(', primary_key: true', '')
        .replace('includes: [quantity, revenue,', 'includes: [quantity, { name: revenue, alias: turnover },'),
    );
    const missing = load(
      shopYaml
        .replace(
          '- { join_path: orders.customers, includes: [{ name: city, alias: customer_city }, customers_count] }',
          '',
        )
        .replace(
          '- { name: sold, sql: "{quantity}", type: sum }',
          '- { name: sold, sql: "{customers.id}", type: sum }',
        ),
    );
    for (const [member, from] of [
      ['turnover', noKeys],
      ['order_value', noKeys],
      ['sold', missing],
    ] as const) {
      const { code, message } = refusal(`SELECT MEASURE(${member}) FROM sales`, merchant(7), from);
      expect(code).toBe('QUERY_NOT_PLANNABLE');
      expect(message).toMatch(new RegExp(`^${member} (?!.*(orders|items|customers|revenue))`));
    }
  });

  test('a hidden member is told as one that does not exist', () => {
    const hidden = refusal('SELECT cost FROM sales');
    const missing = refusal('SELECT cots FROM sales');
    expect([hidden.code, hidden.message.replace('cost', 'cots'), hidden.hint]).toEqual([
      missing.code,
      missing.message,
      missing.hint,
    ]);
    expect(() => compileSql('SELECT cost FROM sales', model, platform, duckdb)).not.toThrow();
  });
});

describe('large input', () => {
  const bombs: Record<string, string> = {
    'too long': `SELECT channel FROM sales WHERE channel = '${'x'.repeat(70_000)}'`,
    parentheses: `SELECT ${'('.repeat(5000)}1${')'.repeat(5000)} FROM sales`,
    sums: `SELECT ${'1+'.repeat(30_000)}1 FROM sales`,
    negations: `SELECT channel FROM sales WHERE ${'NOT '.repeat(10_000)} true`,
    cases: `SELECT ${'CASE WHEN true THEN '.repeat(2000)}1${' END'.repeat(2000)} FROM sales`,
    casts: `SELECT 1${'::int'.repeat(8000)} FROM sales`,
    unions: `SELECT 1${' UNION SELECT 1'.repeat(3000)}`,
    subqueries: `SELECT * FROM ${'(SELECT * FROM '.repeat(2000)}sales${') x'.repeat(2000)}`,
    brackets: `SELECT channel${'[1'.repeat(1000)}${']'.repeat(1000)} FROM sales`,
    calls: `SELECT ${'lower('.repeat(3000)}channel${')'.repeat(3000)} FROM sales`,
    'a deep tree of few tokens': `SELECT channel FROM sales WHERE ${'NOT '.repeat(1900)} true`,
    'a long list': `SELECT channel FROM sales WHERE quantity IN (${Array(30_000).fill('1').join()})`,
    columns: `SELECT ${Array(501).fill('channel').join()} FROM sales`,
    keys: `SELECT channel FROM sales GROUP BY ${Array(501).fill('channel').join()}`,
    'sorted columns': `SELECT channel FROM sales ORDER BY ${Array(501).fill('channel').join()}`,
  };
  const deep = ['parentheses', 'subqueries', 'brackets', 'calls', 'a deep tree of few tokens'];
  test.each(Object.entries(bombs))('%s: refused before anything is made of it', (name, sql) => {
    expect(refusal(sql).code).toBe(deep.includes(name) ? 'SQL_TOO_DEEP' : 'SQL_TOO_LARGE');
  });

  test('limits may be smaller, and count bytes and brackets; never larger than what is safe', () => {
    const compile = (sql: string, sqlBytesMax: number, sqlDepthMax: number) => () =>
      compileSql(sql, model, merchant(7), duckdb, { limits: { sqlBytesMax, sqlDepthMax } });
    const text = "SELECT channel FROM sales WHERE channel = 'é'";
    const bytes = Buffer.byteLength(text);
    expect(compile(text, bytes, 1)).not.toThrow();
    expect(compile(text, bytes - 1, 1)).toThrow(/more than \d+ bytes/);
    const nested = `SELECT channel FROM sales WHERE ${'('.repeat(3)}true${')'.repeat(3)}`;
    expect(compile(nested, bytes * 2, 3)).not.toThrow();
    expect(compile(nested, bytes * 2, 2)).toThrow(/deeper than 2 levels/);
    const bomb = `SELECT ${'('.repeat(65)}1${')'.repeat(65)} FROM sales`;
    expect(compile(bomb, 1_000_000, 1000)).toThrow(/deeper than 64 levels/);
    expect(compile(text + ' '.repeat(65_536), 1_000_000, 1000)).toThrow(/more than 65536 bytes/);
  });

  test('the grammar still works afterwards, and a long flat list is fine', async () => {
    const list = Array.from({ length: 4000 }, (_, index) => `'v${index}'`).join(', ');
    expect(
      await shop.ask(`SELECT channel FROM sales WHERE channel IN ('web', ${list}) GROUP BY 1`, merchant(7)),
    ).toEqual([['web']]);
  });

  // Each took seconds to centuries when parts were copied, or compared one with another. Here they run out of time or do not.
  test.each([
    ['BETWEEN', `SELECT 1 FROM sales WHERE ${'('.repeat(60)}1${' BETWEEN 1 AND 1)'.repeat(60)}`],
    ['CASE', `SELECT ${'CASE WHEN true THEN '.repeat(130)}1${' END'.repeat(130)} FROM sales`],
    ['CASE in BETWEEN', `SELECT ${'CASE WHEN 1 BETWEEN 0 AND '.repeat(200)}1${' THEN 1 END'.repeat(200)} FROM sales`],
    [
      'keys',
      `SELECT quantity${'+1'.repeat(300)} FROM sales GROUP BY ${Array.from({ length: 100 }, (_, at) => `quantity+${at}`).join()}, quantity`,
    ],
    [
      'columns',
      `SELECT ${Array(500).fill('upper(channel)').join()} FROM sales ORDER BY ${Array(500).fill('reason').join()}`,
    ],
  ])('within each other, or many: %s', { timeout: 5000 }, (_name, sql) => {
    try {
      compileSql(sql, model, merchant(7), duckdb);
    } catch (error) {
      if (!(error instanceof SemanticError)) throw error;
    }
  });

  test('the largest allowed chain neither overflows nor hangs', () => {
    const chain = (count: number) => `SELECT quantity${' + 1'.repeat(count)} FROM sales`;
    expect(() => compileSql(chain(330), model, merchant(7), duckdb)).not.toThrow();
    expect(refusal(chain(400)).code).toBe('SQL_TOO_DEEP');
    expect(refusal(chain(1000)).code).toBe('SQL_TOO_LARGE');
  });

  test.each([
    ['NOT', (count: number) => `SELECT channel FROM sales WHERE ${'NOT '.repeat(count)}true`],
    ['minus', (count: number) => `SELECT ${'- '.repeat(count)}quantity FROM sales`],
    ['plus', (count: number) => `SELECT quantity${' + 1'.repeat(count)} FROM sales`],
    ['IS NULL', (count: number) => `SELECT quantity${' IS NULL'.repeat(count)} FROM sales`],
    ['AND', (count: number) => `SELECT channel FROM sales WHERE true${' AND NOT true'.repeat(count)}`],
    ['CASE', (count: number) => `SELECT ${'CASE WHEN true THEN '.repeat(count)}1${' END'.repeat(count)} FROM sales`],
  ])(
    'a chain of %s of any length is answered or too large, up to the longest that the grammar sees',
    (_name, chain) => {
      for (const count of [10, 230, 250, 330, 395, 498, 660, 980, 1980, 1990]) {
        try {
          compileSql(chain(count), model, merchant(7), duckdb);
        } catch (error) {
          expect(error, `${count}`).toMatchObject({ code: expect.stringMatching(/^SQL_TOO_(LARGE|DEEP)$/) });
        }
      }
      expect(() => compileSql(chain(10), model, merchant(7), duckdb)).not.toThrow();
    },
  );
});

test('whatever is not refused runs: no query reaches the engine that the engine does not take', async () => {
  for (const sql of [
    'SELECT channel, quantity FROM sales WHERE quantity > 0.5',
    'SELECT - quantity, abs(-1), round(1.55, 1) FROM sales',
    'SELECT NULL, true, 1.5 FROM sales',
    "SELECT nullif(channel, 'web') FROM sales ORDER BY 1",
    'SELECT MEASURE(revenue) FROM sales HAVING MEASURE(revenue) > 0',
    "SELECT 'a' AS x, channel FROM sales GROUP BY 1, 2",
    'SELECT channel FROM sales WHERE channel = NULL',
  ]) {
    await expect(shop.ask(sql, merchant(7)), sql).resolves.toBeInstanceOf(Array);
  }
});
