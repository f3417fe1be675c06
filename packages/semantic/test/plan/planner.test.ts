/** What the planner makes of models that are not a plain tree of cubes, answered by every engine; expected answers by hand. */
import { beforeAll, describe, expect, test } from 'vitest';
import { compileSql } from '../../src/compile-sql.ts';
import { engineNames, useEngine, type Value } from '../engines.ts';
import { loadModel } from '../load-model.ts';
import { anybody, ask, type Question, sorted } from './ask.ts';
import { fillTrade, tradeYaml } from './trade.ts';

const model = loadModel(tradeYaml);

const answers: [name: string, question: Question, rows: Value[][]][] = [
  [
    'two facts by a shared dimension: rows of either, each total as if asked alone, and null keys meet',
    { from: 'trade', keys: ['name'], measures: ['amount', 'refunded', 'refunds_count'] },
    [
      ['Ann', 30, 5, 1],
      ['Bob', 30, null, null],
      ['Cid', null, 8, 2],
      [null, 40, 2, 1],
    ],
  ],
  [
    'three facts',
    { from: 'trade', keys: ['name'], measures: ['refunded', 'seconds', 'orders_count'] },
    [
      ['Ann', 5, 10, 2],
      ['Bob', null, 5, 1],
      ['Cid', 8, null, null],
      [null, 2, null, 1],
    ],
  ],
  ['two facts in total', { from: 'trade', measures: ['amount', 'refunded', 'seconds'] }, [[100, 15, 15]]],
  [
    'a shared dimension filters both facts',
    { from: 'trade', measures: ['amount', 'refunded'], where: [['name', '=', 'Ann']] },
    [[30, 5]],
  ],
  [
    'a measure over two facts',
    { from: 'trade', keys: ['name'], measures: ['net'] },
    [
      ['Ann', 25],
      ['Bob', null],
      ['Cid', null],
      [null, 38],
    ],
  ],
  ['and in total', { from: 'trade', measures: ['net'] }, [[85]]],
  [
    'HAVING over two facts',
    { from: 'trade', keys: ['name'], measures: ['amount'], having: [['refunded', '>', 4]] },
    [
      ['Ann', 30],
      ['Cid', null],
    ],
  ],
  [
    'a dimension of one fact by itself is of that fact',
    { from: 'trade', keys: ['reason'] },
    [['bad'], ['late'], ['lost']],
  ],
  ['a shared dimension by itself is of the first', { from: 'trade', keys: ['name'] }, [['Ann'], ['Bob'], [null]]],
  [
    'a fact by a dimension that only customers lead to: each refund once per status',
    { from: 'trade', keys: ['status'], measures: ['refunded'] },
    [
      ['open', 5],
      ['paid', 5],
      [null, 10],
    ],
  ],
  [
    'a warehouse aggregate is not inflated by a join, and without rows where it has none',
    { from: 'sales', keys: ['sku'], measures: ['price', 'amount', 'paid_price'] },
    [
      ['a', 40 / 3, 40, 15],
      ['b', 10, 10, null],
      [null, 5, 60, 20 / 3],
    ],
  ],
  ['in total, with and without its filter', { from: 'sales', measures: ['price', 'paid_price'] }, [[100 / 15, 10]]],
  [
    'one of a joined cube does not count rows that a join made up',
    { from: 'sales', keys: ['status'], measures: ['per_line', 'orders_count'] },
    [
      ['open', 2, 2],
      ['paid', 4, 2],
    ],
  ],
  [
    'one that alone has no row for a key keeps the key',
    { from: 'sales', keys: ['name'], measures: ['paid_price'] },
    [
      ['Ann', 20 / 3],
      ['Bob', 15],
      [null, null],
    ],
  ],
  [
    'one alone, filtered, beside no key',
    { from: 'sales', measures: ['paid_price'], where: [['status', '=', 'open']] },
    [[null]],
  ],
  [
    'a division of counts is none of whole numbers',
    { from: 'sales', keys: ['status'], measures: ['share', 'average'] },
    [
      ['open', 2 / 3, 25],
      ['paid', 2, 25],
    ],
  ],
  [
    'null where the divisor is zero',
    { from: 'sales', keys: ['status'], measures: ['share'], where: [['depot_city', '=', 'Oslo']] },
    [
      ['open', null],
      ['paid', null],
    ],
  ],
  [
    'measures of other types',
    { from: 'sales', keys: ['status'], measures: ['is_large', 'latest', 'first_status', 'label'] },
    [
      ['open', true, '2024-02-02 10:00:00', 'open', 'n2'],
      ['paid', true, '2024-02-01 10:00:00', 'paid', 'n2'],
    ],
  ],
  [
    'two ways to one cube are two tables',
    { from: 'sales', keys: ['home_city', 'depot_city'], measures: ['amount'] },
    [
      ['Oslo', 'Oslo', 20],
      ['Oslo', 'Rome', 10],
      ['Rome', 'Rome', 30],
      [null, 'Oslo', 40],
    ],
  ],
  [
    'a table joined with itself',
    { from: 'staff', keys: ['bosses_name', 'bosses_top'], measures: ['heads'] },
    [
      ['Eva', null, 1],
      ['Fay', 'Eva', 2],
      [null, null, 1],
    ],
  ],
  [
    'a segment as a condition and as a key',
    { from: 'sales', keys: ['status'], measures: ['amount'], where: [['big', 'true']] },
    [
      ['open', 40],
      ['paid', 30],
    ],
  ],
  [
    'a segment as a key',
    { from: 'sales', keys: ['big'], measures: ['orders_count'] },
    [
      [false, 2],
      [true, 2],
    ],
  ],
  ['a place', { from: 'sales', keys: ['place'] }, [['41,12'], ['59,10'], [null]]],
  ['half a place is none', { from: 'customers', keys: ['place'], where: [['name', '=', 'Cid']] }, [[null]]],
  [
    'a measure of another cube per row',
    { from: 'customers', keys: ['orders_made'], measures: ['customers_count'] },
    [
      [0, 1],
      [1, 1],
      [2, 1],
    ],
  ],
  ['averaged', { from: 'customers', measures: ['orders_each'] }, [[1]]],
  [
    'as a condition, from another root, beside its own cube',
    { from: 'sales', keys: ['status'], measures: ['amount', 'orders_each'], where: [['orders_made', '>=', 2]] },
    [
      ['open', 10, 2],
      ['paid', 20, 2],
    ],
  ],
  [
    'by itself it knows nothing of the filters of the query; told, it does',
    { from: 'sales', keys: ['name', 'orders_made', 'spent'], where: [['status', '=', 'paid']] },
    [
      ['Ann', 2, 20],
      ['Bob', 1, 30],
    ],
  ],
  [
    'beside a repeated measure',
    { from: 'sales', keys: ['orders_made', 'sku'], measures: ['amount'] },
    [
      [1, 'a', 30],
      [2, 'a', 10],
      [2, 'b', 10],
      [2, null, 20],
      [null, null, 40],
    ],
  ],
  [
    'a choice as a key lists its values',
    { from: 'sales', keys: ['measured_as', 'status'], measures: ['amount', 'quantity'] },
    [
      ['gross', 'open', 50, 6],
      ['gross', 'paid', 50, 4],
      ['net', 'open', 50, 6],
      ['net', 'paid', 50, 4],
    ],
  ],
  [
    'fixed by a condition',
    { from: 'sales', keys: ['status'], measures: ['amount'], where: [['measured_as', '=', 'net']] },
    [
      ['open', 50],
      ['paid', 50],
    ],
  ],
  ['to what it is not', { from: 'sales', keys: ['status'], where: [['measured_as', '=', 'lost']] }, []],
  [
    'a fixed choice as a key',
    { from: 'sales', keys: ['measured_as'], measures: ['amount'], where: [['measured_as', '=', 'net']] },
    [['net', 100]],
  ],
  ['no key is needed where no row comes twice', { from: 'visits', measures: ['visits_count', 'seconds'] }, [[4, 15]]],
  [
    'or where it makes no difference',
    { from: 'web', keys: ['status'], measures: ['longest'] },
    [
      ['open', 4],
      ['paid', 5],
    ],
  ],
  [
    'cubes joined by the query: a measure by a dimension of the cube that joins it',
    { from: ['items', 'orders'], keys: ['orders.status'], measures: ['items.quantity'] },
    [
      ['open', 6],
      ['paid', 4],
    ],
  ],
  [
    'two facts, each over its own rows',
    {
      from: ['customers', 'orders', 'refunds'],
      keys: ['customers.name'],
      measures: ['refunds.refunded', 'orders.amount'],
    },
    [
      ['Ann', 5, 30],
      ['Bob', null, 30],
      ['Cid', 8, null],
      [null, 2, 40],
    ],
  ],
  ...[
    'customers.id',
    'customers.since',
    'month(customers.since)',
    'customers.northern',
    'customers.place',
    'customers.spent',
  ].map((key): [string, Question, Value[][]] => {
    const values: Record<string, [ann: Value, bob: Value, cid: Value, orphans: Value]> = {
      'customers.id': [1, 2, 3, null],
      'customers.since': ['2023-05-01 08:00:00', '2023-05-20 09:30:00', null, null],
      'month(customers.since)': ['2023-05-01 00:00:00', '2023-05-01 00:00:00', null, null],
      'customers.northern': [true, false, null, null],
      'customers.place': ['59,10', '41,12', null, null],
      'customers.spent': [30, 30, null, null],
    };
    const totals = new Map<Value, [Value, Value]>();
    for (const [at, refunded, amount] of [
      [0, 5, 30],
      [1, null, 30],
      [2, 8, null],
      [3, 2, 40],
    ] as const) {
      const value = values[key]?.[at] ?? null;
      const [one = null, other = null] = totals.get(value) ?? [];
      const sum = (a: Value, b: Value) => (a === null && b === null ? null : Number(a) + Number(b));
      totals.set(value, [sum(one, refunded), sum(other, amount)]);
    }
    const question = {
      from: ['customers', 'orders', 'refunds'],
      keys: [key],
      measures: ['refunds.refunded', 'orders.amount'],
    };
    return [
      `two facts put together by ${key}`,
      question,
      [...totals].map(([value, [one, other]]) => [value, one, other]),
    ];
  }),
  [
    'without measures: the first cube that leads to all others',
    { from: ['customers', 'refunds'], keys: ['customers.name', 'refunds.reason'] },
    [
      ['Ann', 'late'],
      ['Cid', 'bad'],
      ['Cid', 'late'],
      [null, 'lost'],
    ],
  ],
  [
    'rows',
    { from: 'sales', keys: ['sku', 'name'], isUngrouped: true },
    [
      ['a', 'Ann'],
      ['a', 'Ann'],
      ['a', 'Bob'],
      ['b', 'Ann'],
      [null, 'Ann'],
      [null, null],
    ],
  ],
];

describe.each(engineNames)('%s', (name) => {
  const engine = useEngine(name);
  beforeAll(() => fillTrade(engine()));
  test.each([
    ["SELECT 'all' AS x, MEASURE(amount), MEASURE(refunded) FROM trade GROUP BY 1", [['all', 100, 15]]],
    ["SELECT 'all' AS x FROM trade GROUP BY 1", [['all']]],
    ["SELECT 'all' AS x, MEASURE(amount) FROM trade WHERE name = 'nobody' GROUP BY 1", []],
    ['SELECT DISTINCT name FROM trade ORDER BY name DESC NULLS LAST', [['Bob'], ['Ann'], [null]]],
    ["SELECT status || '!' AS s, MEASURE(amount) FROM sales GROUP BY 1 ORDER BY 1 DESC LIMIT 1", [['paid!', 50]]],
  ])('%s', async (sql, rows) => {
    const compiled = compileSql(sql, model, anybody, engine().dialect);
    expect(await engine().run(compiled.sql, compiled.parameters), compiled.sql).toEqual(rows);
  });
  test.each(answers)('%s', async (_name, question, rows) => {
    expect(await ask(question, model, engine())).toEqual(sorted(rows));
  });
});
