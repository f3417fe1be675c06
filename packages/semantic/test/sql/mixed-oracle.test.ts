/**
 * Random statements over columns of every type, with measures, subqueries, joins and set operations, give on every engine what PostgreSQL
 * gives for the same over a table whose numbers are all exact.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { compileSql } from '../../src/compile-sql.ts';
import { SemanticError } from '../../src/semantic-error.ts';
import { createTable, engineNames, openEngine, type TestEngine, useEngine, type Value } from '../engines.ts';
import { randomFrom } from '../fuzz/random.ts';
import { load, merchant } from '../shop.ts';
import { randomMixedSql } from './mixed-sql.ts';

const dimension = (name: string, type: string): string =>
  `{ name: ${name}, sql: "{CUBE}.${name}", type: ${type}${name === 'id' ? ', primary_key: true, public: true' : ''} }`;
const model = load(`
cubes:
  - name: t
    sql_table: t
    dimensions: [${[
      ...['id', 'i', 'b', 'd', 'm', 'r'].map((name) => dimension(name, 'number')),
      ...['s', 'g'].map((name) => dimension(name, 'string')),
      dimension('f', 'boolean'),
      dimension('at', 'time'),
      '{ name: day, sql: "{CUBE}.day", type: time }',
    ].join(', ')}]
    measures:
      - { name: n, type: count }
      - { name: sum_b, sql: "{CUBE}.b", type: sum }
      - { name: sum_d, sql: "{CUBE}.d", type: sum }
      - { name: max_m, sql: "{CUBE}.m", type: max }
      - { name: min_r, sql: "{CUBE}.r", type: min }
      - { name: texts, sql: "{CUBE}.s", type: count_distinct }
      - { name: true_n, type: count, filters: [{ sql: "{CUBE}.f" }] }
    access_policy: [{ group: merchant, row_level: { allow_all: true } }]
`);
const rows: readonly (readonly Value[])[] = [
  [1, 1, '12345678901', 0.5, '1.10', '1.1000', 'a', 'x', true, '2024-01-01 00:00:00', '2024-01-01'],
  [2, 2, '2', 2.5, '2.25', '2.2500', 'A', 'x', false, '2024-01-31 23:59:59.5', '2024-02-29'],
  [3, -3, '12345678900', -3, '-0.01', '2.2550', 'ab ', 'y', null, '2024-02-29 12:00:00', '2023-12-31'],
  [4, null, null, null, null, null, null, 'y', true, null, null],
  [5, 7, '-7', 1024, '2.50', '7.0000', ' a%b_c', null, false, '1999-12-31 23:59:59', '1999-12-31'],
  [6, 0, '0', 0, '0.00', '0.0000', '', 'a', null, '2024-12-30 00:00:00', '2024-12-30'],
  [7, 2, '2', 2, '2.00', '2.0000', 'Ä_', 'z', true, '2024-01-31 00:00:00', '2024-01-31'],
  [8, 3, '3', 3.25, '3.25', '3.2501', 'a', 'z', false, '2024-02-29 00:00:00', '2024-02-29'],
];
const seed = Number(process.env['FUZZ_SEED'] ?? 1);
const runs = Number(process.env['FUZZ_RUNS'] ?? 150);

/** Numbers are told to 11 digits: quotients are doubles, and engines add them up in any order. */
const rounded = (value: Value): Value => {
  const isNumber = typeof value === 'number' || (typeof value === 'string' && /^-?\d+([.]\d+)?$/.test(value));
  return isNumber ? Number(Number(value).toPrecision(11)) + 0 : value;
};
const asText = (answer: readonly Value[][]): string =>
  answer
    .map((row) => JSON.stringify(row.map(rounded)))
    .sort()
    .join('\n');

async function createRows(engine: TestEngine): Promise<void> {
  const numbers = {
    id: 'integer',
    i: 'integer',
    b: 'bigint',
    d: 'double',
    m: 'decimal(12,2)',
    r: 'decimal(18,4)',
  } as const;
  const others = { s: 'text', g: 'text', f: 'boolean', at: 'timestamp', day: 'date' } as const;
  await createTable(engine, 't', { ...numbers, ...others }, rows);
}

describe('statements over columns of every type', () => {
  const engines = engineNames.map((name) => useEngine(name));
  let oracle: TestEngine | undefined;
  beforeAll(async () => {
    for (const engine of engines) await createRows(engine());
    oracle = await openEngine('postgres');
    await createRows(oracle);
    for (const name of ['id', 'i', 'b', 'd', 'm', 'r']) {
      await oracle.exec(`ALTER TABLE t ALTER COLUMN ${name} TYPE numeric USING trim_scale(CAST(${name} AS numeric))`);
    }
    for (const name of ['s', 'g']) await oracle.exec(`ALTER TABLE t ALTER COLUMN ${name} TYPE text COLLATE "C"`);
    await oracle.exec('ALTER TABLE t ALTER COLUMN day TYPE timestamp');
    return () => oracle?.close();
  });

  test('are what PostgreSQL makes of them', { timeout: 600_000 }, async () => {
    let compared = 0;
    for (let run = 0; run < runs; run += 1) {
      const { own, plain } = randomMixedSql(randomFrom(seed + run * 7919));
      const expected = await oracle?.run(plain).then(asText, (cause: unknown) => {
        throw new Error(`run ${run} of seed ${seed}: PostgreSQL refuses\n${plain}`, { cause });
      });
      for (const engine of engines) {
        const { name, dialect } = engine();
        const answer = async (): Promise<string | undefined> => {
          const compiled = compileSql(own, model, merchant(7), dialect);
          return asText(await engine().run(compiled.sql, compiled.parameters));
        };
        const got = await answer().catch((cause: unknown) => {
          if (cause instanceof SemanticError) return `${cause.code} ${cause.message}`;
          throw new Error(`${name}, run ${run} of seed ${seed}:\n${own}`, { cause });
        });
        expect([name, run, own, got]).toEqual([name, run, own, expected]);
        compared += 1;
      }
    }
    expect(compared).toBe(runs * engines.length);
  });
});
