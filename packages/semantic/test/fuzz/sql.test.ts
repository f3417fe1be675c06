/** Some of the mutated texts with every run of the tests; `fuzz/sql.ts` takes as many as it is told. */
import { expect, test } from 'vitest';
import { compileSql } from '../../src/compile-sql.ts';
import { duckdb } from '../../src/dialects/duckdb.ts';
import { load, merchant, shopYaml } from '../shop.ts';
import { fuzzSql } from './sql.ts';
import { sqlCorpus } from './sql-corpus.ts';

test('mutated SQL is compiled or refused, and nothing else is thrown', { timeout: 120_000 }, () => {
  const { outcomes } = fuzzSql({ runs: 1500, seed: Number(process.env['FUZZ_SEED'] ?? 1) });
  // All ends are met, or the mutations would be too weak or too strong.
  expect(outcomes['compiled']).toBeGreaterThan(50);
  expect(outcomes['SQL_INVALID']).toBeGreaterThan(300);
  expect(outcomes['MEMBER_NOT_FOUND']).toBeGreaterThan(5);
  expect(outcomes['TYPE_MISMATCH']).toBeGreaterThan(5);
});

test('the texts that they are made from are right', () => {
  const model = load(shopYaml);
  for (const sql of sqlCorpus) expect(() => compileSql(sql, model, merchant(7), duckdb), sql).not.toThrow();
});
