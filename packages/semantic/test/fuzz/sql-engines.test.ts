/** Mutated texts that are compiled: every engine takes them, and all give the same rows. */
import { beforeAll, describe, expect, test } from 'vitest';
import { compileSql } from '../../src/compile-sql.ts';
import type { Dialect } from '../../src/dialects/dialect.ts';
import { SemanticError } from '../../src/semantic-error.ts';
import { engineNames, useEngine, type Value } from '../engines.ts';
import { load, merchant, shopYaml } from '../shop.ts';
import { createShop } from '../sql/shop-engines.ts';
import { mutatedSql } from './sql.ts';

const model = load(shopYaml);
const now = new Date('2024-02-10T08:30:00.000Z');
const seed = Number(process.env['FUZZ_SEED'] ?? 1);
const runs = 300;

const compile = (run: number, dialect: Dialect) => {
  try {
    const timezone = run % 2 === 0 ? 'UTC' : 'Europe/Berlin';
    return compileSql(mutatedSql(seed, run), model, merchant(7), dialect, { now, timezone });
  } catch (error) {
    if (error instanceof SemanticError) return null;
    throw error;
  }
};

/** Rows as texts, in an order of their own: the texts do not always say one. */
const asText = (rows: readonly Value[][]): string => JSON.stringify(rows.map((row) => JSON.stringify(row)).sort());

describe('mutated statements', () => {
  const engines = engineNames.map((name) => useEngine(name));
  beforeAll(async () => {
    for (const engine of engines) await createShop(engine());
  });

  test('are taken by every engine, with the same answers', { timeout: 240_000 }, async () => {
    let compared = 0;
    for (let run = 0; run < runs; run += 1) {
      const answers: string[] = [];
      for (const engine of engines) {
        const compiled = compile(run, engine().dialect);
        if (compiled === null) continue;
        const rows = await engine()
          .run(compiled.sql, compiled.parameters)
          .catch((cause: unknown) => {
            throw new Error(`${engine().name}, run ${run} of seed ${seed}: ${mutatedSql(seed, run)}\n${compiled.sql}`, {
              cause,
            });
          });
        answers.push(asText(rows));
      }
      compared += answers.length > 0 ? 1 : 0;
      // Refused or answered by all alike.
      expect([mutatedSql(seed, run), new Set(answers).size <= 1, answers.length % engines.length]).toEqual([
        mutatedSql(seed, run),
        true,
        0,
      ]);
    }
    expect(compared).toBeGreaterThan(10);
  });
});
