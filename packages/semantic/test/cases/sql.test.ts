/** Cases 24 to 31: joins, nulls, and what plain SQL around semantic SQL means. */
import { runCases } from './run-cases.ts';

runCases('sql', [
  {
    name: '24 the group of null is kept, and rows that nothing is joined to are in it',
    sql: 'SELECT name, MEASURE(orders_count), MEASURE(amount) FROM sales GROUP BY 1 ORDER BY 1',
    rows: [
      ['Ann', 2, 30],
      ['Bob', 1, 30.5],
      [null, 2, 5.25],
    ],
  },
  {
    name: '24 rows by themselves, too',
    sql: 'SELECT id, name FROM sales WHERE name IS NULL ORDER BY id',
    rows: [
      [4, null],
      [5, null],
    ],
  },
  {
    name: '25 two ways of joins: refused',
    sql: 'SELECT cities.city, MEASURE(orders.orders_count) FROM orders CROSS JOIN cities GROUP BY 1',
    refused: ['QUERY_NOT_PLANNABLE', /more than one way/],
  },
  {
    name: '25 no way: refused',
    sql: 'SELECT products.category, MEASURE(visits.pages) FROM visits CROSS JOIN products GROUP BY 1',
    refused: ['QUERY_NOT_PLANNABLE', /no join leads there/],
  },
  {
    name: '25 one way: answered, without a view',
    sql: 'SELECT customers.name, MEASURE(orders.amount), MEASURE(visits.pages) FROM orders CROSS JOIN customers CROSS JOIN visits GROUP BY 1 ORDER BY 1',
    rows: [
      ['Ann', 30, 3],
      ['Bob', 30.5, null],
      ['Dan', null, 5],
      [null, 5.25, 7],
    ],
  },
  {
    name: '26 one cube by two ways of a view, each under its own name',
    sql: 'SELECT home_city, shop_city, MEASURE(orders_count) FROM places GROUP BY 1, 2 ORDER BY 1, 2',
    rows: [
      ['Oslo', 'Rome', 2],
      ['Rome', 'Oslo', 1],
      [null, 'Oslo', 1],
      [null, null, 1],
    ],
  },
  {
    name: '26 a filter on one of them says nothing of the other',
    sql: "SELECT shop_city, MEASURE(orders_count) FROM places WHERE home_city = 'Oslo' GROUP BY 1",
    rows: [['Rome', 2]],
  },
  {
    name: '26 a cube joined with itself',
    sql: 'SELECT chief, MEASURE(staff_count) FROM team GROUP BY 1 ORDER BY 1',
    rows: [
      ['Ada', 2],
      [null, 2],
    ],
  },
  {
    name: '27 the average of monthly sums',
    sql: "SELECT AVG(x.amount) FROM (SELECT date_trunc('month', at) AS m, MEASURE(amount) AS amount FROM sales GROUP BY 1) AS x",
    rows: [[16.4375]],
  },
  {
    name: '27 a limit outside leaves the sums as they are',
    sql: "SELECT x.m, x.amount FROM (SELECT date_trunc('month', at) AS m, MEASURE(amount) AS amount FROM sales GROUP BY 1) AS x ORDER BY x.m DESC LIMIT 2",
    rows: [
      ['2024-10-01 00:00:00', 5.25],
      ['2024-03-01 00:00:00', 30.5],
    ],
  },
  {
    name: '27 a limit inside is one of the inner rows',
    sql: 'SELECT SUM(x.amount) FROM (SELECT channel, MEASURE(amount) AS amount FROM sales GROUP BY 1 ORDER BY 2 DESC NULLS LAST LIMIT 1) AS x',
    rows: [[35.75]],
  },
  {
    name: '28 every dimension of a cube',
    sql: 'SELECT * FROM products ORDER BY id',
    rows: [
      [1, 1, 'shoes'],
      [2, 1, 'hats'],
    ],
  },
  {
    name: '28 dimensions beside a measure without GROUP BY: refused',
    sql: 'SELECT channel, MEASURE(amount) FROM sales',
    refused: ['GROUP_BY_REQUIRED', /channel/],
  },
  {
    name: '28 * beside a measure: refused',
    sql: 'SELECT *, MEASURE(amount) FROM sales',
    refused: ['GROUP_BY_REQUIRED', /grouped/],
  },
  {
    name: '29 the top by a figure that two have: always the same one',
    sql: 'SELECT channel, MEASURE(orders_count) FROM sales GROUP BY 1 ORDER BY 2 DESC LIMIT 1',
    rows: [['store', 2]],
  },
  {
    name: '29 and the rest on the next page',
    sql: 'SELECT channel, MEASURE(orders_count) FROM sales GROUP BY 1 ORDER BY 2 DESC LIMIT 2 OFFSET 1',
    rows: [
      ['web', 2],
      [null, 1],
    ],
  },
  {
    name: '30 one measure under two names',
    sql: 'SELECT MEASURE(amount) AS one, MEASURE(amount) AS two FROM sales',
    rows: [[65.75, 65.75]],
  },
  {
    name: '30 a name that another member has',
    sql: 'SELECT MEASURE(amount) AS orders_count, MEASURE(orders_count) AS amount FROM sales',
    rows: [[65.75, 5]],
  },
  {
    name: '30 ORDER BY means the selected one',
    sql: 'SELECT category AS channel, MEASURE(orders_count) FROM sales GROUP BY 1 ORDER BY channel',
    rows: [
      ['hats', 2],
      ['shoes', 1],
      [null, 3],
    ],
  },
  {
    name: '30 GROUP BY means the member',
    sql: 'SELECT category AS channel, MEASURE(orders_count) FROM sales GROUP BY channel',
    refused: ['GROUP_BY_REQUIRED', /category/],
  },
  {
    name: '31 division, decimals and rounding',
    sql: `SELECT 1 / 2, 7 / 2, 0.1 + 0.2, round(2.5), round(-2.5), 1 / 3.0, 7 % 3, -7 % 3, 10 / 0, 1.10 * 3,
      MEASURE(orders_count) / 2, round(MEASURE(amount) / 3, 2) FROM sales`,
    rows: [[0.5, 3.5, 0.3, 3, -3, 0.333333333333, 1, -1, null, 3.3, 2.5, 21.92]],
  },
  {
    name: '31 nulls come last, whichever way, unless one says so',
    sql: 'SELECT channel, MEASURE(amount) FROM sales GROUP BY 1 ORDER BY 2 DESC NULLS LAST',
    rows: [
      ['store', 35.75],
      ['web', 30],
      [null, null],
    ],
  },
  {
    name: '31 nulls are the largest otherwise',
    sql: 'SELECT channel, MEASURE(amount) FROM sales GROUP BY 1 ORDER BY 2 DESC',
    rows: [
      [null, null],
      ['store', 35.75],
      ['web', 30],
    ],
  },
]);
