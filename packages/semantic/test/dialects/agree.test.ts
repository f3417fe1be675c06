/** Random expressions over small tables have the same values on every engine. */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTable, engineNames, openEngine, type TestEngine, type Value } from '../engines.ts';
import { randomExpressions } from './random-expression.ts';
import { ask, modelOf } from './world.ts';

const columns = {
  id: 'integer',
  a: 'integer',
  big: 'bigint',
  d: 'decimal(12,2)',
  x: 'double',
  s: 'text',
  u: 'text',
  b: 'boolean',
  at: 'timestamp',
  day: 'date',
} as const;
const rows: readonly (readonly (Value | bigint)[])[] = [
  [1, 7, 10_000_000_000n, '10.10', 0.5, 'Ab', 'b', true, '2024-02-29 23:30:15.5', '2024-12-30'],
  [2, null, null, null, null, null, null, null, null, null],
  [3, -5, -10_000_000_001n, '-2.35', -2.5, ' a,b,,c ', 'éa', false, '2021-01-01 00:00:00', '2021-01-03'],
  [4, 0, 0n, '0.00', 1024, '', '12', false, '1969-12-31 23:59:59.999999', '1970-01-01'],
  [5, 1, 1n, '99.99', 0, '2024-01-31', 'true', true, '2024-03-31 01:30:00', null],
  [6, null, 7n, null, 3, 'b', '', null, null, '2000-02-29'],
];
const model = modelOf('r', columns);
const vocabulary = {
  columns,
  numbers: ['0', '1', '2', '7', '0.5', '10.1', '3000000000'],
  texts: ['', 'a', 'Ab', ',', '12', '2023-02-29', "it's"],
  times: ['2024-01-01', '1999-12-31 23:59:59'],
  isExact: true,
};
const runs = Number(process.env['EXPRESSION_RUNS'] ?? 60);

let engines: readonly TestEngine[] = [];
beforeAll(async () => {
  engines = await Promise.all(engineNames.map(openEngine));
  await Promise.all(engines.map((engine) => createTable(engine, 'r', columns, rows)));
});
afterAll(async () => {
  await Promise.all(engines.map((engine) => engine.close()));
});

/** To 12 digits: which double is nearest to a sum may depend on its order. */
const rounded = (value: Value): Value => {
  if (typeof value !== 'number' && !(typeof value === 'string' && /^-?\d+([.]\d+)?$/.test(value))) return value;
  return Number(Number(value).toPrecision(12)) + 0;
};

const { number, text, truth, time } = randomExpressions(vocabulary);
const anyList = fc.array(fc.oneof(number, text, truth, time), { minLength: 1, maxLength: 4 });

test('random expressions agree', async () => {
  await fc.assert(
    fc.asyncProperty(anyList, truth, fc.constantFrom('UTC', 'America/St_Johns'), async (list, condition, timezone) => {
      const sql = `SELECT id, ${list.map((it, at) => `${it} AS c${at}`).join(', ')} FROM r WHERE ${condition} OR id < 4 ORDER BY id`;
      const answers = await Promise.all(engines.map((engine) => ask(engine, sql, model, { timezone })));
      for (const answer of answers) {
        expect(
          answer.map((row) => row.map(rounded)),
          sql,
        ).toEqual(answers[0]?.map((row) => row.map(rounded)));
      }
    }),
    { numRuns: runs, endOnFailure: false },
  );
}, 600_000);
