/** What statements, functions and names are refused, with which code, words, place and hint. */
import { describe, expect, test } from 'vitest';
import { type CompileOptions, compileSql } from '../../src/compile-sql.ts';
import { duckdb } from '../../src/dialects/duckdb.ts';
import { SemanticError } from '../../src/semantic-error.ts';
import { load, merchant, shopYaml } from '../shop.ts';

const model = load(shopYaml);
const refusal = (sql: string, options?: CompileOptions): SemanticError => {
  try {
    compileSql(sql, model, merchant(7), duckdb, options);
  } catch (error) {
    if (error instanceof SemanticError) return error;
    throw error;
  }
  throw new Error(`not refused: ${sql.slice(0, 100)}`);
};

const c = '(SELECT channel, MEASURE(orders_count) AS n FROM sales GROUP BY 1)';
const refused: [code: string, sql: string, text: RegExp][] = [
  // Statements
  ['SQL_NOT_SUPPORTED', 'WITH RECURSIVE a AS (SELECT channel FROM sales) SELECT * FROM a', /WITH RECURSIVE/],
  ['SQL_NOT_SUPPORTED', 'WITH a AS (DELETE FROM orders RETURNING id) SELECT * FROM a', /Delete in WITH at character 6/],
  ['SQL_NOT_SUPPORTED', 'WITH a AS (VALUES (1)) SELECT * FROM a', /VALUES/],
  ['SQL_NOT_SUPPORTED', 'TABLE sales UNION VALUES (1)', /VALUES/],
  ['SQL_NOT_SUPPORTED', 'SELECT channel FROM sales INTERSECT ALL SELECT channel FROM sales', /INTERSECT ALL/],
  ['SQL_NOT_SUPPORTED', 'SELECT channel FROM sales EXCEPT ALL SELECT channel FROM sales', /EXCEPT ALL/],
  ['SQL_NOT_SUPPORTED', `SELECT * FROM ${c} AS a, LATERAL ${c} AS b`, /LATERAL/],
  ['SQL_NOT_SUPPORTED', `SELECT * FROM ${c} AS a JOIN ${c} AS b USING (channel)`, /USING/],
  ['SQL_NOT_SUPPORTED', `SELECT * FROM ${c} AS a NATURAL JOIN ${c} AS b`, /NATURAL JOIN/],
  ['SQL_NOT_SUPPORTED', `SELECT * FROM (${c} AS a CROSS JOIN ${c} AS b) AS j`, /JOIN with alias/],
  ['SQL_NOT_SUPPORTED', `SELECT * FROM ${c} AS a LEFT JOIN ${c} AS b ON a.n < b.n`, /LEFT JOIN on such a condition/],
  ['SQL_NOT_SUPPORTED', `SELECT * FROM ${c} AS a LEFT JOIN ${c} AS b ON a.n = b.n AND a.n > 1`, /LEFT JOIN on such/],
  ['SQL_NOT_SUPPORTED', `SELECT * FROM ${c} AS a FULL JOIN ${c} AS b ON a.n = b.n OR true`, /FULL JOIN on such/],
  [
    'SQL_NOT_SUPPORTED',
    `SELECT * FROM ${c} AS a LEFT JOIN (${c} AS b JOIN ${c} AS d ON b.n < d.n) ON a.n = b.n`,
    /within an outer join/,
  ],
  [
    'SQL_NOT_SUPPORTED',
    `SELECT * FROM sales JOIN ${c} AS b ON b.channel = sales.channel`,
    /the view sales beside other tables/,
  ],
  ['SQL_NOT_SUPPORTED', 'SELECT 1 FROM sales AS s (a, b)', /other names for the columns of a view/],
  ['SQL_NOT_SUPPORTED', "SELECT * FROM (SELECT * FROM read_csv('/etc/passwd')) AS x", /function in FROM/],
  ['SQL_NOT_SUPPORTED', 'SELECT (SELECT channel FROM sales) FROM sales', /more than one row at character 8/],
  ['SQL_NOT_SUPPORTED', 'SELECT 1 FROM sales WHERE channel = ANY (SELECT channel FROM sales)', /ANY/],
  ['SQL_NOT_SUPPORTED', 'SELECT 1 FROM sales WHERE channel > ALL (SELECT channel FROM sales)', /ALL/],
  ['SQL_NOT_SUPPORTED', 'SELECT ARRAY(SELECT channel FROM sales) FROM sales', /array/],
  [
    'SQL_NOT_SUPPORTED',
    'SELECT channel FROM sales UNION SELECT channel FROM sales ORDER BY upper(channel)',
    /expression in ORDER BY of a set/,
  ],
  ['SQL_INVALID', 'SELECT channel FROM sales UNION SELECT channel, channel FROM sales', /as many columns/],
  ['SQL_INVALID', 'SELECT channel FROM sales UNION SELECT channel FROM sales ORDER BY 2', /ORDER BY 2/],
  ['SQL_INVALID', `WITH a AS ${c}, a AS ${c} SELECT * FROM a`, /"a" more than once/],
  ['SQL_INVALID', `SELECT * FROM ${c} AS a, ${c} AS a`, /"a" more than once/],
  ['SQL_INVALID', `SELECT n FROM ${c} AS a, ${c} AS b`, /"n" is ambiguous/],
  ['SQL_INVALID', 'SELECT x FROM (SELECT 1 AS x, 2 AS x FROM sales) AS a', /"x" is ambiguous/],
  ['SQL_INVALID', `SELECT n AS a, channel AS a FROM ${c} AS x ORDER BY a`, /ORDER BY "a" is ambiguous/],
  ['SQL_INVALID', `SELECT * FROM ${c} AS a (x, y, z)`, /has 2 columns, not 3/],
  ['SQL_INVALID', 'SELECT 1 FROM sales WHERE channel IN (SELECT channel, 1 FROM sales)', /one column/],
  [
    'TYPE_MISMATCH',
    'SELECT channel FROM sales UNION SELECT quantity FROM sales',
    /UNION mixes string and number in column "channel"/,
  ],
  ['TYPE_MISMATCH', 'SELECT 1 FROM sales WHERE quantity IN (SELECT channel FROM sales)', /IN mixes number and string/],
  ['TYPE_MISMATCH', `SELECT * FROM ${c} AS a WHERE channel > 5`, /string and number/],
  ['TYPE_MISMATCH', `SELECT SUM(channel) FROM ${c} AS a`, /SUM takes a number/],
  ['TYPE_MISMATCH', `SELECT * FROM ${c} AS a JOIN ${c} AS b ON a.n`, /ON takes a boolean/],
  // Names
  ['RELATION_NOT_FOUND', 'WITH a AS (SELECT * FROM b), b AS (SELECT channel FROM sales) SELECT * FROM a', /"b"/],
  ['RELATION_NOT_FOUND', 'SELECT * FROM (WITH a AS (SELECT channel FROM sales) SELECT * FROM a) AS x, a', /"a"/],
  ['RELATION_NOT_FOUND', `SELECT b.n FROM ${c} AS a`, /No table "b" in FROM/],
  [
    'RELATION_NOT_FOUND',
    `SELECT a.n FROM ${c} AS a JOIN ${c} AS b ON d.n = a.n CROSS JOIN ${c} AS d`,
    /No table "d" in FROM/,
  ],
  ['MEMBER_NOT_FOUND', `SELECT m FROM ${c} AS a`, /No column "m" in FROM/],
  [
    'MEMBER_NOT_FOUND',
    'SELECT 1 FROM (SELECT channel FROM sales) AS s WHERE EXISTS (SELECT 1 FROM sales WHERE s_channel = 1)',
    /"s_channel"/,
  ],
  ['MEMBER_NOT_FOUND', 'SELECT cost FROM (SELECT * FROM (SELECT channel FROM sales) AS a) AS b', /No column "cost"/],
  // Measures, aggregates and windows
  ['MEASURE_MISUSED', `SELECT MEASURE(n) FROM ${c} AS a`, /MEASURE stands only/],
  ['MEASURE_MISUSED', `SELECT SUM(SUM(n)) FROM ${c} AS a`, /One aggregate inside another/],
  ['MEASURE_MISUSED', `SELECT n FROM ${c} AS a WHERE SUM(n) > 1`, /An aggregate cannot stand in WHERE/],
  ['MEASURE_MISUSED', 'SELECT SUM(revenue) OVER () FROM sales', /revenue is a measure/],
  [
    'MEASURE_MISUSED',
    'SELECT channel FROM sales WHERE (SELECT MEASURE(sold) FROM sales) > MEASURE(sold)',
    /cannot stand in WHERE/,
  ],
  ['GROUP_BY_REQUIRED', `SELECT channel, SUM(n) FROM ${c} AS a`, /channel has to be grouped by/],
  ['GROUP_BY_REQUIRED', 'SELECT rank() OVER (ORDER BY channel), MEASURE(sold) FROM sales', /channel/],
  ['SQL_INVALID', 'SELECT channel FROM sales WHERE row_number() OVER () = 1', /window function cannot stand in WHERE/],
  ['SQL_INVALID', 'SELECT channel FROM sales GROUP BY channel HAVING rank() OVER (ORDER BY channel) = 1', /HAVING/],
  ['SQL_INVALID', 'SELECT lag(rank() OVER ()) OVER () FROM sales', /cannot stand in another/],
  ['SQL_NOT_SUPPORTED', 'SELECT percent_rank() OVER () FROM sales', /percent_rank as a window function/],
  ['SQL_NOT_SUPPORTED', 'SELECT last_value(channel) OVER (ORDER BY channel) FROM sales', /last_value without a frame/],
  [
    'SQL_NOT_SUPPORTED',
    'SELECT SUM(quantity) OVER (ORDER BY quantity RANGE 2 PRECEDING) FROM sales',
    /frame other than ROWS/,
  ],
  [
    'SQL_NOT_SUPPORTED',
    'SELECT SUM(quantity) OVER (ORDER BY quantity GROUPS 2 PRECEDING) FROM sales',
    /frame other than ROWS/,
  ],
  ['SQL_NOT_SUPPORTED', 'SELECT SUM(quantity) OVER (ROWS 2 PRECEDING EXCLUDE TIES) FROM sales', /EXCLUDE/],
  [
    'SQL_NOT_SUPPORTED',
    'SELECT SUM(quantity) OVER (ROWS BETWEEN 1 PRECEDING AND 2 PRECEDING) FROM sales',
    /ends before it begins/,
  ],
  ['SQL_NOT_SUPPORTED', 'SELECT SUM(quantity) OVER (ROWS quantity PRECEDING) FROM sales', /whole number/],
  ['SQL_NOT_SUPPORTED', 'SELECT rank() OVER w FROM sales', /a window w that WINDOW does not name/],
  [
    'SQL_NOT_SUPPORTED',
    'SELECT rank() OVER (w ORDER BY channel) FROM sales WINDOW w AS (PARTITION BY quantity)',
    /refname/,
  ],
  ['SQL_NOT_SUPPORTED', 'SELECT row_number() FROM sales', /row_number without OVER/],
  ['SQL_NOT_SUPPORTED', 'SELECT ntile(0) OVER () FROM sales', /ntile with anything but a whole number/],
  ['SQL_NOT_SUPPORTED', `SELECT SUM(DISTINCT n) FROM ${c} AS a`, /SUM DISTINCT/],
  ['SQL_NOT_SUPPORTED', `SELECT string_agg(channel, ',') FROM ${c} AS a`, /function string_agg/],
  ['SQL_NOT_SUPPORTED', `SELECT COUNT(channel ORDER BY channel) FROM ${c} AS a`, /agg order/],
  // Expressions
  ['SQL_NOT_SUPPORTED', "SELECT to_char(created_at, 'YYYY') FROM sales", /function to_char at character 8/],
  ['SQL_NOT_SUPPORTED', "SELECT created_at AT TIME ZONE 'UTC' FROM sales", /AT TIME ZONE/],
  ['SQL_NOT_SUPPORTED', 'SELECT EXTRACT(millennium FROM created_at) FROM sales', /date part "millennium"/],
  ['SQL_NOT_SUPPORTED', "SELECT INTERVAL '1 day' FROM sales", /interval that is not added/],
  ['SQL_NOT_SUPPORTED', "SELECT created_at + INTERVAL '1.5 days' FROM sales", /the interval '1.5 days'/],
  ['SQL_NOT_SUPPORTED', "SELECT created_at + INTERVAL '1 constructor' FROM sales", /the interval/],
  ['SQL_NOT_SUPPORTED', "SELECT created_at + INTERVAL '1' YEAR TO MONTH FROM sales", /interval of two units/],
  ['SQL_NOT_SUPPORTED', "SELECT created_at + INTERVAL '999999 years' FROM sales", /10,000 years/],
  ['SQL_NOT_SUPPORTED', 'SELECT channel::varchar(3) FROM sales', /cast to varchar with a size/],
  ['SQL_NOT_SUPPORTED', 'SELECT quantity::numeric(50, 2) FROM sales', /decimal of that size/],
  ['SQL_NOT_SUPPORTED', 'SELECT quantity::int[] FROM sales', /the type int4 with arrayBounds/],
  ['SQL_NOT_SUPPORTED', 'SELECT (quantity > 1) IS UNKNOWN FROM sales', /IS UNKNOWN/],
  ['SQL_NOT_SUPPORTED', 'SELECT quantity IS DISTINCT FROM 1 FROM sales', /IS DISTINCT FROM/],
  ['SQL_NOT_SUPPORTED', 'SELECT quantity BETWEEN SYMMETRIC 1 AND 2 FROM sales', /BETWEEN SYMMETRIC/],
  [
    'SQL_NOT_SUPPORTED',
    `SELECT CASE quantity${' + 1'.repeat(30)} WHEN 1 THEN 2 END FROM sales`,
    /CASE with a long operand/,
  ],
  ['SQL_NOT_SUPPORTED', 'SELECT overlay(channel placing channel from 1) FROM sales', /function pg_catalog.overlay/],
  ['SQL_NOT_SUPPORTED', 'SELECT current_timestamp(3) FROM sales', /precision/],
  ['SQL_NOT_SUPPORTED', 'SELECT session_user FROM sales', /system value/],
  ['SQL_NOT_SUPPORTED', 'SELECT channel COLLATE "C" FROM sales', /COLLATE at character 16/],
  ['TYPE_MISMATCH', 'SELECT created_at - created_at FROM sales', /takes numbers, not times/],
  ['TYPE_MISMATCH', 'SELECT created_at + 1 FROM sales', /takes numbers, not times/],
  ['TYPE_MISMATCH', 'SELECT created_at::int FROM sales', /cast to bigint takes a number or a string, not a time/],
  ['TYPE_MISMATCH', 'SELECT quantity::date FROM sales', /cast to date takes a time or a string/],
  ['TYPE_MISMATCH', "SELECT 'soon'::date FROM sales", /"soon" is not a time/],
  ['TYPE_MISMATCH', "SELECT now() + INTERVAL '9000 years' FROM sales", /outside the years/],
  ['TYPE_MISMATCH', "SELECT quantity + INTERVAL '1 day' FROM sales", /INTERVAL takes a time/],
  ['TYPE_MISMATCH', 'SELECT greatest(quantity, channel) FROM sales', /greatest mixes number and string/i],
  ['TYPE_MISMATCH', "SELECT date_part('year', quantity) FROM sales", /date part takes a time/],
  ['TYPE_MISMATCH', 'SELECT left(quantity, 1) FROM sales', /left takes a string/i],
  ['TYPE_MISMATCH', 'SELECT channel IS TRUE FROM sales', /IS TRUE takes a boolean/],
];

describe('refused with a code and words', () => {
  test.each(refused)('%s: %s', (code, sql, text) => {
    const error = refusal(sql);
    expect([error.code, error.message]).toEqual([code, expect.stringMatching(text)]);
  });

  test('where: the character, the line and the column, in characters and not in bytes', () => {
    const error = refusal("SELECT channel,\n  'é' || to_char(created_at, 'Y')\nFROM sales");
    expect(error.message).toMatch(/at character 26 \(line 2, column 10\)\.$/);
    expect(error.place).toEqual({ character: 26, line: 2, column: 10 });
    expect(refusal('SELECT chanel FROM sales')).toMatchObject({
      message: 'No member "chanel" in sales.',
      place: { character: 8, line: 1, column: 8 },
    });
  });

  test('a word of SQL that may be meant as a name is said to need quotes', () => {
    expect(refusal('SELECT end FROM sales')).toMatchObject({
      code: 'SQL_INVALID',
      hint: 'If "end" is meant as a name, write it in quotes.',
    });
    expect(refusal("SELECT channel FROM sales WHERE channel = 'web").hint).toBe('');
    expect(refusal('SELECT user FROM sales').hint).toBe('A member of such a name is written in quotes, as in "user".');
  });

  test.each([
    ['SELECT channel, MEASURE(orders_count) AS n FROM sales GROUP BY 1 HAVING n > 1', 'Write MEASURE(orders_count).'],
    ['SELECT channel, MEASURE(sold) * 2 AS n FROM sales GROUP BY 1 HAVING n > 1', 'Write its expression.'],
    [`SELECT a.channel, SUM(a.n) AS total FROM ${c} AS a GROUP BY 1 HAVING total > 1`, 'Write SUM(n).'],
    ['SELECT upper(channel) AS n FROM sales WHERE n = 1', 'Write its expression.'],
  ])('a name that only SELECT gives is said to be one: %s', (sql, written) => {
    const name = sql.includes('AS total') ? 'total' : 'n';
    const known = `${name} is a name that SELECT gives; WHERE and HAVING do not know it.`;
    expect(refusal(sql)).toMatchObject({ code: 'MEMBER_NOT_FOUND', hint: `${known} ${written}` });
  });

  test('a time zone is one of the zone database', () => {
    const named = (timezone: string) => refusal('SELECT channel FROM sales', { timezone }).message;
    expect(named('Mars/Olympus')).toBe('No time zone "Mars/Olympus".');
    expect(named("UTC' OR 1=1")).toMatch(/No time zone/);
  });
});

describe('hidden names behave as names that do not exist', () => {
  /** `orders` exists and is not public; `cost` exists and is not granted. */
  const same = (hidden: string, missing: string, name: [string, string]) => {
    const [one, other] = [refusal(hidden), refusal(missing)];
    expect([one.code, one.message.replaceAll(name[0], name[1]), one.hint]).toEqual([
      other.code,
      other.message,
      other.hint,
    ]);
  };
  test.each([
    ['SELECT * FROM orders', 'SELECT * FROM ordxxx'],
    ['SELECT * FROM (SELECT 1 FROM orders) AS x', 'SELECT * FROM (SELECT 1 FROM ordxxx) AS x'],
    [
      'WITH a AS (SELECT 1 FROM orders) SELECT channel FROM sales',
      'WITH a AS (SELECT 1 FROM ordxxx) SELECT channel FROM sales',
    ],
    [
      'SELECT channel FROM sales WHERE EXISTS (SELECT 1 FROM orders)',
      'SELECT channel FROM sales WHERE EXISTS (SELECT 1 FROM ordxxx)',
    ],
    ['SELECT * FROM sales CROSS JOIN orders', 'SELECT * FROM sales CROSS JOIN ordxxx'],
    ['SELECT channel FROM sales UNION SELECT 1 FROM orders', 'SELECT channel FROM sales UNION SELECT 1 FROM ordxxx'],
  ])('%s', (hidden, missing) => same(hidden, missing, ['orders', 'ordxxx']));

  test.each([
    ['SELECT cost FROM sales', 'SELECT coxx FROM sales'],
    ['SELECT MEASURE(cost) FROM sales', 'SELECT MEASURE(coxx) FROM sales'],
    ['SELECT channel FROM sales GROUP BY channel, cost', 'SELECT channel FROM sales GROUP BY channel, coxx'],
    ['SELECT rank() OVER (ORDER BY cost) FROM sales', 'SELECT rank() OVER (ORDER BY coxx) FROM sales'],
    [
      'SELECT x.cost FROM (SELECT * FROM (SELECT channel FROM sales) AS y) AS x',
      'SELECT x.coxx FROM (SELECT * FROM (SELECT channel FROM sales) AS y) AS x',
    ],
  ])('%s', (hidden, missing) => same(hidden, missing, ['cost', 'coxx']));

  test('a WITH query or an alias with a hidden name is that query, and nothing else', () => {
    const compile = (sql: string) => compileSql(sql, model, merchant(7), duckdb);
    expect([...compile('WITH orders AS (SELECT channel FROM sales) SELECT * FROM orders').columns]).toEqual([
      'channel',
    ]);
    expect(refusal('WITH orders AS (SELECT channel FROM sales) SELECT shipping FROM orders').code).toBe(
      'MEMBER_NOT_FOUND',
    );
    expect(refusal('SELECT cost FROM (SELECT channel AS cost FROM sales) AS a GROUP BY channel').code).toBe(
      'MEMBER_NOT_FOUND',
    );
    expect(
      refusal('WITH a AS (WITH orders AS (SELECT channel FROM sales) SELECT * FROM orders) SELECT * FROM orders').code,
    ).toBe('RELATION_NOT_FOUND');
  });
});

describe('large statements are refused, or compiled, in bounded time', () => {
  const doubled = (levels: number) =>
    `WITH c0 AS (SELECT channel, MEASURE(revenue) AS r FROM sales GROUP BY 1), ${Array.from(
      { length: levels },
      (_, at) => `c${at + 1} AS (SELECT a.channel, b.r FROM c${at} AS a CROSS JOIN c${at} AS b)`,
    ).join(', ')} SELECT * FROM c${levels}`;
  const bombs: Record<string, string> = {
    'a query of WITH used by one that is used by one': doubled(30),
    'columns that double': `WITH c0 AS (SELECT channel, MEASURE(revenue) AS r FROM sales GROUP BY 1), ${Array.from({ length: 12 }, (_, at) => `c${at + 1} AS (SELECT * FROM c${at} AS a CROSS JOIN c${at} AS b)`).join(', ')} SELECT 1 FROM c12`,
    'subqueries in the operands of IN': `SELECT channel FROM sales WHERE ${'('.repeat(50)}channel${" IN (SELECT channel FROM sales)) = true AND 'a'".repeat(0)}${')'.repeat(50)} IN (SELECT channel FROM sales)`,
    'operands of IN within each other': `SELECT channel FROM sales WHERE ${"('a' || (".repeat(25)}channel${' IN (SELECT channel FROM sales))::text)'.repeat(25)} = 'b'`,
    'many SELECTs': `SELECT channel FROM sales${' UNION ALL SELECT channel FROM sales'.repeat(64)}`,
    'many tables': `SELECT 1 FROM ${Array.from({ length: 33 }, (_, at) => `c AS c${at}`).join(', ')}`,
    'many windows over many columns': `SELECT ${Array(300).fill('row_number() OVER ()').join()} FROM (SELECT ${Array(500).fill('channel').join()} FROM sales) AS x`,
    'a chain of what takes most calls': `SELECT channel${' || channel'.repeat(340)} FROM sales`,
    'many columns many times': `SELECT * FROM (SELECT ${Array(500).fill('channel').join()} FROM sales) AS a, (SELECT channel FROM sales) AS b`,
  };
  test.each(Object.entries(bombs))('%s', (_name, sql) => {
    try {
      compileSql(sql, model, merchant(7), duckdb);
    } catch (error) {
      if (!(error instanceof SemanticError)) throw error;
    }
  });

  test('with the code that says so', () => {
    for (const name of [
      'a query of WITH used by one that is used by one',
      'columns that double',
      'many SELECTs',
      'many tables',
      'many columns many times',
      'many windows over many columns',
    ]) {
      expect([name, refusal(bombs[name] ?? '').code]).toEqual([name, 'SQL_TOO_LARGE']);
    }
    expect(() => compileSql(doubled(6), model, merchant(7), duckdb)).not.toThrow();
  });
});
