/** Statements: subqueries, WITH, set operations, joins and windows over semantic blocks, answers worked out by hand, on every engine. */
import { beforeAll, describe, expect, test } from 'vitest';
import { engineNames, useEngine, type Value } from '../engines.ts';
import { load, merchant, shopYaml } from '../shop.ts';
import { ask, createShop } from './shop-engines.ts';

const model = load(shopYaml);
const now = new Date('2024-02-10T08:30:00.000Z');

/** Question, then the answer for merchant 7: orders 1–4, of which 3 has no items and 4 no channel. */
const answers: [name: string, sql: string, rows: Value[][]][] = [
  [
    'the average of monthly sums (27)',
    `SELECT AVG(revenue) AS average FROM
       (SELECT date_trunc('month', created_at) AS month, MEASURE(revenue) AS revenue FROM sales GROUP BY 1) AS months`,
    [[37.7]],
  ],
  [
    'an outer LIMIT leaves inner values (27)',
    `SELECT channel, orders FROM (SELECT channel, MEASURE(orders_count) AS orders FROM sales GROUP BY 1) AS c
     ORDER BY orders DESC, channel LIMIT 1`,
    [['web', 2]],
  ],
  [
    'a WITH query, used twice',
    `WITH c AS (SELECT channel, MEASURE(revenue) AS revenue FROM sales GROUP BY channel)
     SELECT c.channel, round(c.revenue / t.total, 4) AS share FROM c CROSS JOIN (SELECT SUM(revenue) AS total FROM c) AS t
     ORDER BY share DESC`,
    [
      ['web', 0.5358],
      ['store', 0.3979],
      [null, 0.0663],
    ],
  ],
  [
    'a WITH query named as the view that it reads',
    `WITH sales AS (SELECT channel FROM sales WHERE channel = 'web' GROUP BY channel) SELECT * FROM sales`,
    [['web']],
  ],
  [
    'WITH within WITH, and other names for columns',
    `WITH a (place) AS (WITH b AS (SELECT channel FROM sales GROUP BY 1) SELECT channel FROM b WHERE channel IS NOT NULL)
     SELECT x.p FROM a AS x (p) ORDER BY x.p DESC`,
    [['web'], ['store']],
  ],
  [
    'UNION ALL with a total, in the order of a column',
    `SELECT channel, MEASURE(orders_count) AS orders FROM sales WHERE channel IS NOT NULL GROUP BY channel
     UNION ALL SELECT 'all', MEASURE(orders_count) FROM sales
     ORDER BY orders DESC, channel`,
    [
      ['all', 4],
      ['web', 2],
      ['store', 1],
    ],
  ],
  [
    'UNION makes rows distinct, nulls too; a NULL column takes the type of the other',
    `SELECT channel, NULL AS n FROM sales UNION SELECT channel, 1 FROM sales WHERE channel = 'web' ORDER BY 1, 2`,
    [
      ['store', null],
      ['web', 1],
      ['web', null],
      [null, null],
    ],
  ],
  [
    'INTERSECT and EXCEPT, nulls equal',
    `SELECT channel FROM sales GROUP BY 1
     INTERSECT (SELECT channel FROM sales WHERE created_at >= '2024-02-01' EXCEPT SELECT channel FROM sales WHERE channel = 'store')
     ORDER BY channel`,
    [['web'], [null]],
  ],
  [
    'an inner join of two blocks, with expressions in ON',
    `SELECT a.channel, a.orders, b.refunded FROM
       (SELECT channel, MEASURE(orders_count) AS orders FROM sales GROUP BY 1) AS a
       JOIN (SELECT channel, MEASURE(refunded) AS refunded FROM sales GROUP BY 1) AS b ON upper(a.channel) = upper(b.channel)
     ORDER BY a.channel`,
    [
      ['store', 1, null],
      ['web', 2, 7],
    ],
  ],
  [
    'LEFT, RIGHT and FULL JOIN keep what they should',
    `SELECT a.channel, b.channel, c.channel FROM (SELECT channel FROM sales WHERE channel = 'web' GROUP BY 1) AS a
       FULL JOIN (SELECT channel FROM sales WHERE channel = 'store' GROUP BY 1) AS b ON a.channel = b.channel
       LEFT JOIN (SELECT channel FROM sales WHERE channel IS NOT NULL GROUP BY 1) AS c ON c.channel = b.channel AND c.channel <> 'fax'
     ORDER BY 1, 2, 3`,
    [
      ['web', null, null],
      [null, 'store', 'store'],
    ],
  ],
  [
    'a join by an inequality is a filtered cross join',
    `SELECT a.orders, b.orders FROM (SELECT channel, MEASURE(orders_count) AS orders FROM sales GROUP BY 1) AS a
       JOIN (SELECT channel, MEASURE(orders_count) AS orders FROM sales GROUP BY 1) AS b ON a.orders < b.orders ORDER BY 1, 2`,
    [
      [1, 2],
      [1, 2],
    ],
  ],
  [
    'grouped again, with HAVING, FILTER and DISTINCT counts',
    `SELECT big, COUNT(*) AS n, COUNT(DISTINCT channel) AS channels, SUM(orders) FILTER (WHERE channel = 'web') AS web
     FROM (SELECT channel, MEASURE(orders_count) AS orders, MEASURE(revenue) > 10 AS big FROM sales GROUP BY channel) AS c
     GROUP BY big HAVING COUNT(*) > 0 ORDER BY n DESC, big`,
    [
      [true, 2, 2, 2],
      [false, 1, 0, null],
    ],
  ],
  [
    'aggregates of nothing',
    `SELECT COUNT(*), SUM(quantity), MIN(channel) FROM (SELECT channel, quantity FROM sales WHERE channel = 'fax') AS x`,
    [[0, null, null]],
  ],
  [
    'windows over groups: rank, share of the total, running sum',
    `SELECT channel, MEASURE(orders_count) AS orders, rank() OVER (ORDER BY MEASURE(orders_count) DESC) AS place,
       SUM(MEASURE(orders_count)) OVER () AS total,
       SUM(MEASURE(revenue)) OVER (ORDER BY channel ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS running
     FROM sales GROUP BY channel ORDER BY channel`,
    [
      ['store', 1, 2, 4, 30],
      ['web', 2, 1, 4, 70.4],
      [null, 1, 2, 4, 75.4],
    ],
  ],
  [
    'lag and lead with distance and default, first and last',
    `SELECT month, lag(orders) OVER w AS before, lead(orders, 1, 0) OVER w AS behind, first_value(orders) OVER w AS first,
       last_value(orders) OVER (ORDER BY month ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS last
     FROM (SELECT date_trunc('month', created_at) AS month, MEASURE(orders_count) AS orders FROM sales GROUP BY 1) AS m
     WINDOW w AS (ORDER BY month) ORDER BY month`,
    [
      ['2024-01-01 00:00:00', null, 1, 2, 1],
      ['2024-02-01 00:00:00', 2, 1, 2, 1],
      ['2024-03-01 00:00:00', 1, 0, 2, 1],
    ],
  ],
  [
    'a moving average over rows, and numbering that ties do not shake',
    `SELECT channel, row_number() OVER (ORDER BY MEASURE(orders_count)) AS n,
       AVG(MEASURE(orders_count)) OVER (ORDER BY MEASURE(orders_count) ROWS 1 PRECEDING) AS moving,
       ntile(2) OVER (ORDER BY MEASURE(orders_count) DESC) AS half
     FROM sales GROUP BY channel ORDER BY n`,
    [
      ['store', 1, 1, 1],
      [null, 2, 1, 2],
      ['web', 3, 1.5, 1],
    ],
  ],
  [
    'the best of each group by a subquery',
    `SELECT category, channel FROM (
       SELECT category, channel, row_number() OVER (PARTITION BY category ORDER BY MEASURE(sold) DESC) AS n
       FROM sales WHERE category IS NOT NULL GROUP BY category, channel) AS ranked
     WHERE n = 1 ORDER BY category`,
    [
      ['Hats', 'store'],
      ['Shoes', 'web'],
    ],
  ],
  [
    'a dense rank with partitions over rows',
    `SELECT quantity, dense_rank() OVER (PARTITION BY category ORDER BY quantity) AS d FROM sales WHERE category IS NOT NULL ORDER BY category, quantity`,
    [
      [2, 1],
      [3, 2],
      [1, 1],
      [1, 1],
    ],
  ],
  [
    'a subquery as a value, in SELECT, WHERE and HAVING',
    `SELECT channel, MEASURE(revenue) / (SELECT MEASURE(revenue) FROM sales) > 0.5 AS most FROM sales
     WHERE quantity <= (SELECT MAX(quantity) FROM (SELECT quantity FROM sales) AS q)
     GROUP BY channel HAVING MEASURE(revenue) > (SELECT AVG(r) FROM (SELECT MEASURE(revenue) AS r FROM sales GROUP BY channel) AS a)
     ORDER BY channel`,
    [
      ['store', false],
      ['web', true],
    ],
  ],
  [
    'IN and NOT IN a subquery; its nulls are left out',
    `SELECT channel FROM sales WHERE channel NOT IN (SELECT channel FROM sales WHERE channel IS NULL OR channel = 'web' GROUP BY 1)
       AND quantity IN (SELECT quantity FROM sales) GROUP BY 1`,
    [['store']],
  ],
  [
    'IN nothing, and of a null',
    `SELECT channel, channel IN (SELECT channel FROM sales WHERE channel = 'fax') AS x FROM sales GROUP BY 1 ORDER BY 1`,
    [
      ['store', false],
      ['web', false],
      [null, null],
    ],
  ],
  [
    'EXISTS and NOT EXISTS',
    `SELECT channel FROM sales WHERE EXISTS (SELECT channel FROM sales WHERE quantity = 3)
       AND NOT EXISTS (SELECT 1 FROM sales WHERE quantity = 4) GROUP BY channel ORDER BY 1 LIMIT 1`,
    [['store']],
  ],
  [
    'top N with ties: the columns decide (29)',
    `SELECT channel, MEASURE(orders_count) AS orders FROM sales GROUP BY channel ORDER BY orders LIMIT 1`,
    [['store', 1]],
  ],
  [
    'and in a set operation',
    `SELECT channel, 1 AS n FROM sales UNION ALL SELECT channel, 1 FROM sales ORDER BY n LIMIT 1`,
    [['store', 1]],
  ],
  [
    'distinct rows of a subquery, in an order',
    `SELECT DISTINCT upper(channel) AS c FROM (SELECT channel FROM sales) AS x ORDER BY c DESC NULLS LAST`,
    [['WEB'], ['STORE'], [null]],
  ],
  [
    'an alias goes before a column in ORDER BY, behind it in GROUP BY',
    `SELECT -orders AS orders, COUNT(*) AS n FROM (SELECT channel, MEASURE(orders_count) AS orders FROM sales GROUP BY 1) AS x
     GROUP BY x.orders ORDER BY orders`,
    [
      [-2, 1],
      [-1, 2],
    ],
  ],
  [
    'stars, of all tables and of one',
    `SELECT b.*, a.* FROM (SELECT channel FROM sales WHERE channel = 'web' GROUP BY 1) AS a,
       (SELECT MEASURE(orders_count) AS n, MEASURE(sold) AS s FROM sales) AS b`,
    [[4, 8, 'web']],
  ],
  [
    'columns of one name are told apart by their tables, and come under one name',
    `SELECT a.n, b.n FROM (SELECT MEASURE(sold) AS n FROM sales) AS a CROSS JOIN (SELECT MEASURE(orders_count) AS n FROM sales) AS b`,
    [[8, 4]],
  ],
  [
    'grouped by literals alone',
    `SELECT 'a' AS a, COUNT(*) FROM (SELECT channel FROM sales) AS x GROUP BY 1`,
    [['a', 4]],
  ],
  [
    'the present, in expressions of time',
    `SELECT MEASURE(orders_count), date_trunc('month', now()) AS month, CURRENT_DATE - 9 AS day FROM sales
     WHERE created_at >= date_trunc('month', CURRENT_TIMESTAMP) - INTERVAL '1 month' AND created_at < now()`,
    [[3, '2024-02-01 00:00:00', '2024-02-01 00:00:00']],
  ],
  [
    'a member moved in time, its parts, and casts',
    `SELECT created_at + INTERVAL '1' MONTH AS later, EXTRACT(day FROM created_at) AS day, date_part('quarter', created_at) AS q,
       created_at::date AS d FROM sales WHERE channel = 'store'`,
    [['2024-02-29 23:30:00', 31, 1, '2024-01-31 00:00:00']],
  ],
  [
    'texts, as PostgreSQL writes them',
    `SELECT substring(channel FROM 1 FOR 2) || '-' || quantity AS t, position('o' in channel) AS p, char_length(channel) AS l,
       trim(both from '  x ') AS x, channel LIKE 's!%' ESCAPE '!' AS e FROM sales WHERE channel = 'store'`,
    [['st-3', 3, 5, 'x', false]],
  ],
  [
    'CASE with an operand, GREATEST, IS TRUE, %, ^',
    `SELECT CASE channel WHEN 'web' THEN 1 WHEN 'store' THEN 2 ELSE 3 END AS c, GREATEST(quantity, 2) AS g,
       (quantity > 2) IS NOT TRUE AS t, quantity % 2 AS m, quantity ^ 2 AS p FROM sales WHERE channel IS NULL OR channel = 'store'
     ORDER BY 1`,
    [
      [2, 3, false, 1, 9],
      [3, 2, true, 1, 1],
    ],
  ],
  [
    'a unit of time that is not there equals no time and differs from none, not from one that begins no unit either',
    `SELECT COUNT(*) FILTER (WHERE date_trunc('month', t) <> '2024-01-31'), COUNT(*) FILTER (WHERE NOT date_trunc('month', t) = '2024-01-31'),
       COUNT(*) FILTER (WHERE ('2024-01-01' <> date_trunc('month', t)) IS NULL), COUNT(*) FILTER (WHERE date_trunc('month', t) = '2024-01-01')
     FROM (SELECT CASE WHEN channel = 'web' THEN created_at END AS t FROM sales) AS x`,
    [[2, 2, 2, 1]],
  ],
  [
    'a segment-like condition from a subquery is a boolean column',
    `SELECT COUNT(*) FROM (SELECT quantity > 1 AS many FROM sales) AS x WHERE many`,
    [[2]],
  ],
];

describe.each(engineNames)('%s', (name) => {
  const engine = useEngine(name);
  beforeAll(async () => createShop(engine()));

  test.each(answers)('%s', async (_name, sql, rows) => {
    expect(await ask(engine(), sql, model, merchant(7), { now })).toEqual(rows);
  });

  test('in a time zone days and months are those of its clocks, and literals too (21)', async () => {
    const options = { now, timezone: 'Europe/Berlin' };
    const months = `SELECT date_trunc('month', created_at) AS month, MEASURE(orders_count) AS n FROM sales GROUP BY 1 ORDER BY 1`;
    // 31 January 23:30 in UTC is February in Berlin.
    expect(await ask(engine(), months, model, merchant(7), options)).toEqual([
      ['2024-01-01 00:00:00', 1],
      ['2024-02-01 00:00:00', 2],
      ['2024-03-01 00:00:00', 1],
    ]);
    const february = `SELECT MEASURE(orders_count) FROM sales WHERE created_at >= '2024-02-01' AND created_at < '2024-02-02'`;
    expect(await ask(engine(), february, model, merchant(7), options)).toEqual([[2]]);
    const truncated = `SELECT MEASURE(orders_count) FROM sales WHERE date_trunc('day', created_at) = '2024-02-01'`;
    expect(await ask(engine(), truncated, model, merchant(7), options)).toEqual([[2]]);
    const rows = `SELECT t, date_part('day', t) AS d FROM (SELECT created_at AS t FROM sales WHERE channel = 'store') AS x WHERE t < now()`;
    expect(await ask(engine(), rows, model, merchant(7), options)).toEqual([['2024-01-31 23:30:00', 1]]);
  });
});
