/** A few of the mutated model files with every run of the tests; `fuzz/run.ts` takes as many as it is told. */
import { expect, test } from 'vitest';
import { issuesOf } from '../load-model.ts';
import { everyKeyYaml } from './model-corpus.ts';
import { fuzzYaml } from './yaml.ts';

test('mutated files load or have issues, and nothing is thrown', { timeout: 120_000 }, () => {
  const { outcomes } = fuzzYaml({ runs: 400, seed: Number(process.env['FUZZ_SEED'] ?? 1) });
  // Both ends are met, or the mutations would be too weak or too strong.
  expect(outcomes['loads']).toBeGreaterThan(5);
  expect(outcomes['has issues']).toBeGreaterThan(200);
});

test('the file that they are made from is right', () => {
  expect(issuesOf(everyKeyYaml)).toEqual([]);
});
