/** Cases 1 to 13 and 18: no total is inflated, and a measure is what it is when asked alone. */
import { createTable } from '../engines.ts';
import { loadModel } from '../load-model.ts';
import { runCases } from './run-cases.ts';

const last = {
  duckdb: 'arg_max({CUBE}.amount, {CUBE}.day)',
  postgres: '(array_agg({CUBE}.amount ORDER BY {CUBE}.day DESC))[1]',
  clickhouse: 'argMax({CUBE}.amount, {CUBE}.day)',
};
const balances = (name: keyof typeof last) =>
  loadModel(`
cubes:
  - name: balances
    sql_table: balances
    dimensions:
      - { name: account, sql: "{CUBE}.account", type: number, primary_key: true }
      - { name: day, sql: "{CUBE}.day", type: time, primary_key: true }
    measures:
      - { name: last, sql: "${last[name]}", type: number_agg }
      - { name: balance, multi_stage: true, type: sum, sql: "{last}", add_group_by: [account] }
    access_policy: [{ group: tenant }]
`);

runCases(
  'totals',
  [
    {
      name: '1 a sum by a category of the items counts an order once in each',
      sql: 'SELECT category, MEASURE(amount), MEASURE(quantity) FROM sales GROUP BY 1 ORDER BY 1',
      rows: [
        ['hats', 40.5, 5],
        ['shoes', 10, 3],
        [null, 25.25, 1],
      ],
    },
    {
      name: '1 and once in the total',
      sql: 'SELECT MEASURE(amount), MEASURE(quantity) FROM sales',
      rows: [[65.75, 9]],
    },
    {
      name: '1 also where the items are only filtered by',
      sql: "SELECT MEASURE(amount) FROM sales WHERE category IN ('shoes', 'hats')",
      rows: [[40.5]],
    },
    {
      name: '2 an average is of orders, not of their items; nulls do not count',
      sql: 'SELECT category, MEASURE(mean) FROM sales GROUP BY 1 ORDER BY 1',
      rows: [
        ['hats', 20.25],
        ['shoes', 10],
        [null, 12.625],
      ],
    },
    {
      name: '3 a count on the one side counts keys',
      sql: 'SELECT category, MEASURE(orders_count), MEASURE(customers_count) FROM sales GROUP BY 1 ORDER BY 1',
      rows: [
        ['hats', 2, 2],
        ['shoes', 1, 1],
        [null, 3, 1],
      ],
    },
    {
      name: '4 5 two facts by a dimension of both: no cross product, and what only one has is kept',
      sql: 'SELECT name, MEASURE(amount), MEASURE(pages) FROM reach GROUP BY 1 ORDER BY 1',
      rows: [
        ['Ann', 30, 3],
        ['Bob', 30.5, null],
        ['Dan', null, 5],
        [null, 5.25, 7],
      ],
    },
    {
      name: '4 the one alone',
      sql: 'SELECT name, MEASURE(pages) FROM reach GROUP BY 1 ORDER BY 1',
      rows: [
        ['Ann', 3],
        ['Dan', 5],
        [null, 7],
      ],
    },
    { name: '4 both totals', sql: 'SELECT MEASURE(pages), MEASURE(amount) FROM reach', rows: [[15, 65.75]] },
    {
      name: '4 a dimension that only one fact has is refused',
      sql: 'SELECT channel, MEASURE(pages) FROM reach GROUP BY 1',
      refused: ['QUERY_NOT_PLANNABLE', /pages cannot be asked by channel/],
    },
    {
      name: '6 a ratio beside a measure of many rows is as when asked alone',
      sql: 'SELECT channel, MEASURE(per_order), MEASURE(quantity) FROM sales GROUP BY 1 ORDER BY 1',
      rows: [
        ['store', 17.875, 4],
        ['web', 15, 5],
        [null, null, null],
      ],
    },
    {
      name: '7 without a primary key, where rows come several times: refused by name',
      sql: 'SELECT category, MEASURE(amount) FROM bare_sales GROUP BY 1',
      refused: ['QUERY_NOT_PLANNABLE', /amount .*bare has no primary key/],
    },
    {
      name: '7 and answered where they do not',
      sql: 'SELECT channel, MEASURE(amount) FROM bare_sales GROUP BY 1 ORDER BY 1',
      rows: [
        ['store', 35.75],
        ['web', 30],
        [null, null],
      ],
    },
    {
      name: '8 the total of a ratio is the ratio of the totals',
      sql: 'SELECT MEASURE(per_order) FROM sales',
      rows: [[13.15]],
    },
    {
      name: '9 divided by nothing: null',
      sql: 'SELECT MEASURE(per_none), MEASURE(amount) / MEASURE(none), MEASURE(none) FROM sales',
      rows: [[null, null, 0]],
    },
    {
      name: '10 different buyers are not added up',
      sql: 'SELECT channel, MEASURE(buyers), MEASURE(buyers_of_all) FROM sales GROUP BY 1 ORDER BY 1',
      rows: [
        ['store', 2, 3],
        ['web', 1, 3],
        [null, 0, 3],
      ],
    },
    { name: '10 nor in the total', sql: 'SELECT MEASURE(buyers) FROM sales', rows: [[3]] },
    {
      name: '11 the last balance of each account, added up over accounts and never over days',
      sql: "SELECT date_trunc('month', day), MEASURE(balance) FROM balances GROUP BY 1 ORDER BY 1",
      model: balances,
      rows: [
        ['2024-01-01 00:00:00', 120],
        ['2024-02-01 00:00:00', 10],
      ],
    },
    { name: '11 over all days', sql: 'SELECT MEASURE(balance) FROM balances', model: balances, rows: [[60]] },
    {
      name: '12 the filter of a measure and WHERE, both; its siblings know of WHERE only',
      sql: "SELECT MEASURE(web_amount), MEASURE(amount), MEASURE(orders_count) FROM sales WHERE at >= '2024-01-01'",
      rows: [[20, 55.75, 4]],
    },
    {
      name: '12 and of a segment',
      sql: 'SELECT MEASURE(amount), MEASURE(web_amount) FROM sales WHERE NOT online',
      rows: [[35.75, null]],
    },
    {
      name: '13 a measure in WHERE is refused',
      sql: 'SELECT channel FROM sales WHERE MEASURE(amount) > 1',
      refused: ['MEASURE_MISUSED', /WHERE/],
    },
    {
      name: '13 HAVING leaves groups out, after WHERE has left rows out',
      sql: "SELECT channel, MEASURE(amount) FROM sales WHERE at >= '2024-01-01' GROUP BY 1 HAVING MEASURE(amount) > 21",
      rows: [['store', 35.75]],
    },
    {
      name: '18 an aggregate of an aggregate is refused',
      sql: 'SELECT MEASURE(SUM(amount)) FROM sales',
      refused: ['MEASURE_MISUSED', /inside another/],
    },
    {
      name: 'an empty table: a total has a row, groups have none',
      sql: 'SELECT MEASURE(rows_count), MEASURE(total), MEASURE(words), MEASURE(running) FROM nothing',
      rows: [[0, null, 0, null]],
    },
    {
      name: 'an empty table by group',
      sql: 'SELECT word, MEASURE(rows_count), MEASURE(total) FROM nothing GROUP BY 1',
      rows: [],
    },
  ],
  async (engine) => {
    await createTable(engine, 'balances', { account: 'integer', day: 'timestamp', amount: 'integer' }, [
      [1, '2024-01-10 00:00:00', 50],
      [1, '2024-01-31 00:00:00', 70],
      [1, '2024-02-15 00:00:00', 10],
      [2, '2024-01-05 00:00:00', 50],
    ]);
  },
);
