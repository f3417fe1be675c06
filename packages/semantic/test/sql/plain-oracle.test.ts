/**
 * What is around semantic blocks is PostgreSQL's SQL: random statements over two blocks give, on every engine, what PostgreSQL gives for the
 * very same text over two tables that hold the blocks' rows.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { compileSql } from '../../src/compile-sql.ts';
import { createTable, engineNames, useEngine, type Value } from '../engines.ts';
import { randomFrom } from '../fuzz/random.ts';
import { load, merchant, shopYaml } from '../shop.ts';
import { randomPlainSql } from './plain-sql.ts';
import { ask, createShop } from './shop-engines.ts';

const model = load(shopYaml);
const seed = Number(process.env['FUZZ_SEED'] ?? 1);
const runs = Number(process.env['FUZZ_RUNS'] ?? 60);
const blocks = {
  a: 'SELECT channel, category, MEASURE(orders_count) AS n FROM sales GROUP BY 1, 2',
  b: 'SELECT channel, customer_city AS city, MEASURE(sold) AS s FROM sales GROUP BY 1, 2',
};
const asText = (rows: readonly Value[][]): string => JSON.stringify(rows.map((row) => JSON.stringify(row)).sort());

describe('plain SQL over blocks', () => {
  const oracle = useEngine('postgres');
  const engines = engineNames.map((name) => useEngine(name));
  beforeAll(async () => {
    for (const engine of engines) await createShop(engine());
    const [first] = engines;
    if (first === undefined) throw new Error('no engine');
    const rowsOf = (sql: string) => ask(first(), sql, model, merchant(7));
    await createTable(oracle(), 'a', { channel: 'text', category: 'text', n: 'bigint' }, await rowsOf(blocks.a));
    await createTable(oracle(), 'b', { channel: 'text', city: 'text', s: 'bigint' }, await rowsOf(blocks.b));
  });

  test('is what PostgreSQL makes of it', { timeout: 300_000 }, async () => {
    let rows = 0;
    for (let run = 0; run < runs; run += 1) {
      const sql = randomPlainSql(randomFrom(seed + run * 7919));
      const expected = await oracle()
        .run(sql)
        .catch((cause: unknown) => {
          throw new Error(`run ${run} of seed ${seed}: PostgreSQL refuses\n${sql}`, { cause });
        });
      rows += expected.length;
      const own = `WITH a AS (${blocks.a}), b AS (${blocks.b}) SELECT * FROM (${sql}) AS whole`;
      for (const engine of engines) {
        const compiled = compileSql(own, model, merchant(7), engine().dialect);
        const got = await engine()
          .run(compiled.sql, compiled.parameters)
          .catch((cause: unknown) => {
            throw new Error(`${engine().name}, run ${run} of seed ${seed}:\n${sql}\n${compiled.sql}`, { cause });
          });
        expect([engine().name, run, sql, asText(got)]).toEqual([engine().name, run, sql, asText(expected)]);
      }
    }
    expect(rows).toBeGreaterThan(runs);
  });
});
