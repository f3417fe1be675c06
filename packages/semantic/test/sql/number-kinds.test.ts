/**
 * Whole numbers, decimals and doubles that meet: in CASE and its like, under each other in UNION, in IN and joins, beside a default of `lag`.
 * The compiler does not know of which kind a column is; the answers are worked out by hand.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { createTable, engineNames, useEngine, type Value } from '../engines.ts';
import { load, merchant } from '../shop.ts';
import { ask } from './shop-engines.ts';

const number = (name: string): string => `{ name: ${name}, sql: "{CUBE}.${name}", type: number }`;
const model = load(`
cubes:
  - name: t
    sql_table: t
    dimensions: [{ name: id, sql: "{CUBE}.id", type: number, primary_key: true, public: true },
      ${['small', 'big', 'price', 'rate', 'weight'].map(number).join(',\n      ')}]
    measures: [{ name: n, type: count }, { name: prices, sql: "{CUBE}.price", type: sum },
      { name: weights, sql: "{CUBE}.weight", type: sum }, { name: bigs, sql: "{CUBE}.big", type: sum },
      { name: rates, sql: "{CUBE}.rate", type: sum }, { name: mean_weight, sql: "{CUBE}.weight", type: avg },
      { name: mean_small, sql: "{CUBE}.small", type: avg }, { name: mean_price, sql: "{CUBE}.price", type: avg }]
    access_policy: [{ group: merchant, row_level: { allow_all: true } }]
`);
const largest = '9223372036854775807';
const rows: readonly (readonly Value[])[] = [
  // id, small, big, price, rate, weight
  [1, 1, largest, '1.10', '1.1000', 0.1],
  [2, 2, '2', '2.25', '2.2500', 2.25],
  [3, -3, '9007199254740993', '-0.01', '2.2550', 1e300],
  [4, null, null, null, null, null],
  [5, 0, '-7', '2.00', '2.0000', 2],
];

const answers: [sql: string, rows: Value[][]][] = [
  [
    'SELECT CASE WHEN id = 1 THEN weight WHEN id = 2 THEN price ELSE small END, coalesce(price, weight, 7) FROM t ORDER BY id',
    [
      [0.1, 1.1],
      [2.25, 2.25],
      [-3, -0.01],
      [null, 7],
      [0, 2],
    ],
  ],
  // Exact, where none of them is a double.
  [
    'SELECT CASE WHEN id = 2 THEN price ELSE big END, greatest(big, rate), coalesce(NULL + 1, big, small) FROM t ORDER BY id',
    [
      [largest, largest, largest],
      [2.25, 2.25, 2],
      ['9007199254740993', '9007199254740993', '9007199254740993'],
      [null, null, null],
      [-7, 2, -7],
    ],
  ],
  [
    'SELECT CASE WHEN id < 3 THEN MEASURE(prices) ELSE MEASURE(weights) END FROM t WHERE id IN (1, 5) GROUP BY id ORDER BY id',
    [[1.1], [2]],
  ],
  [
    `SELECT id, lag(small, 1, 0.5) OVER (ORDER BY id), lag(big, 1, 0) OVER (ORDER BY id), lag(price, 1, weight) OVER (ORDER BY id),
       lead(price, 2, weight) OVER (ORDER BY id) FROM t WHERE id <> 4 ORDER BY id`,
    [
      [1, 0.5, 0, 0.1, -0.01],
      [2, 1, largest, 1.1, 2],
      [3, 2, 2, 2.25, 1e300],
      [5, -3, '9007199254740993', -0.01, 2],
    ],
  ],
  // A row that is there, with nothing in it, is no reason for the default.
  [
    'SELECT id, lag(big, 1, 5) OVER (ORDER BY id), lag(price, 0, 5) OVER (ORDER BY id) FROM t WHERE id > 3 ORDER BY id',
    [
      [4, 5, null],
      [5, null, 2],
    ],
  ],
  [
    'SELECT MEASURE(n), lag(MEASURE(bigs), 1, 0) OVER (ORDER BY id) FROM t WHERE id < 3 GROUP BY id ORDER BY id',
    [
      [1, 0],
      [1, largest],
    ],
  ],
  [
    'SELECT big FROM t WHERE id < 3 UNION ALL SELECT price FROM t WHERE id < 3 UNION ALL SELECT NULL FROM t WHERE id = 1 ORDER BY big',
    [[1.1], [2], [2.25], [largest], [null]],
  ],
  [
    'SELECT big FROM t WHERE id IN (2, 5) UNION SELECT weight FROM t WHERE id IN (2, 5) ORDER BY 1',
    [[-7], [2], [2.25]],
  ],
  ['SELECT id, big FROM t INTERSECT SELECT small, small FROM t', [[2, 2]]],
  ['SELECT rate FROM t INTERSECT SELECT price FROM t ORDER BY 1', [[1.1], [2], [2.25], [null]]],
  ['SELECT price FROM t EXCEPT SELECT rate FROM t EXCEPT SELECT weight FROM t', [[-0.01]]],
  // Doubles whose squares are none, and whole numbers whose average is not whole.
  [
    'SELECT MEASURE(mean_weight), MEASURE(mean_small), MEASURE(mean_price) FROM t WHERE id IN (2, 3)',
    [[5e299, -0.5, 1.12]],
  ],
  ['SELECT MEASURE(mean_weight), MEASURE(mean_small), MEASURE(mean_price) FROM t WHERE id = 4', [[null, null, null]]],
  [
    'SELECT id, avg(weight) OVER (ORDER BY id), avg(small) OVER (ORDER BY id) FROM t WHERE id IN (2, 3, 4) ORDER BY id',
    [
      [2, 2.25, 2],
      [3, 5e299, -0.5],
      [4, 5e299, -0.5],
    ],
  ],
  // Casts to a decimal round to its places; how many digits it is to have does not limit it.
  ['SELECT price::decimal(2, 1), rate::decimal(1, 0), 12345.5::decimal(3, 1) FROM t WHERE id = 2', [[2.3, 2, 12345.5]]],
  // -0.0 is 0; so is every quotient of 0.
  ['SELECT DISTINCT 0 / small, round(0.0 * small, 1), ceil(small * 0.0) FROM t WHERE small <> 0', [[0, 0, 0]]],
  [
    'SELECT id FROM t WHERE weight IN (1.5, 2.25, 0.1, 7.5) OR weight = 3.5 OR weight = 4.5 OR weight = 5.5 ORDER BY id',
    [[1], [2]],
  ],
  [
    'SELECT id, CASE WHEN small > 1 THEN 2.5 ELSE 3.25 END FROM t WHERE id < 3 ORDER BY id',
    [
      [1, 3.25],
      [2, 2.5],
    ],
  ],
  // Decimals of different places, of which sums have 38 digits.
  [
    'SELECT coalesce(MEASURE(prices), MEASURE(rates)), CASE WHEN id > 2 THEN MEASURE(rates) ELSE MEASURE(prices) END FROM t WHERE id IN (2, 3) GROUP BY id ORDER BY id',
    [
      [2.25, 2.25],
      [-0.01, 2.255],
    ],
  ],
  [
    'SELECT MEASURE(prices) FROM t WHERE id = 2 UNION ALL SELECT MEASURE(rates) FROM t WHERE id = 3 ORDER BY 1',
    [[2.25], [2.255]],
  ],
  [
    'SELECT id FROM t WHERE id < 4 GROUP BY id HAVING MEASURE(prices) + 0.01 IN (SELECT MEASURE(rates) FROM t WHERE id = 3)',
    [],
  ],
  // Nothing is known of what is compared with nothing.
  [
    'SELECT COUNT(nullif(big, small)), SUM(CASE WHEN small > 100 THEN NULL ELSE 1 END), AVG(CASE WHEN small > 0 THEN NULL ELSE id END) FROM (SELECT * FROM t) AS x',
    [[3, 5, 4]],
  ],
  ['SELECT id FROM t WHERE rate IN (SELECT price FROM t) ORDER BY id', [[1], [2], [5]]],
  ['SELECT id FROM t WHERE price IN (SELECT big FROM t) ORDER BY id', [[5]]],
  ['SELECT id FROM t WHERE price NOT IN (SELECT rate FROM t) ORDER BY id', [[3]]],
  ['SELECT id FROM t WHERE small IN (SELECT weight FROM t) ORDER BY id', [[2]]],
  ['SELECT id FROM t WHERE big IN (SELECT big FROM t WHERE id < 4) ORDER BY id', [[1], [2], [3]]],
  [
    'SELECT a.id, b.id AS other FROM (SELECT id, price FROM t) AS a JOIN (SELECT id, weight FROM t) AS b ON a.price = b.weight ORDER BY 1',
    [
      [2, 2],
      [5, 5],
    ],
  ],
  [
    `SELECT a.id, b.id AS other FROM (SELECT id, big FROM t) AS a LEFT JOIN (SELECT id, rate FROM t) AS b ON b.rate = a.big AND b.id > 1
     ORDER BY 1`,
    [
      [1, null],
      [2, 5],
      [3, null],
      [4, null],
      [5, null],
    ],
  ],
];

describe.each(engineNames)('%s', (name) => {
  const engine = useEngine(name);
  beforeAll(() =>
    createTable(
      engine(),
      't',
      {
        id: 'integer',
        small: 'integer',
        big: 'bigint',
        price: 'decimal(12,2)',
        rate: 'decimal(18,4)',
        weight: 'double',
      },
      rows,
    ),
  );

  test.each(answers)('%s', async (sql, expected) => {
    expect(await ask(engine(), sql, model, merchant(7))).toEqual(expected);
  });
});
