/** Some runs of the property on every engine with every run of the tests; `fuzz/policies/run.ts` takes as many as it is told. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type EngineName, engineNames, useEngine } from '../../engines.ts';
import { keptSeeds } from './kept-seeds.ts';
import { noOutcomes, runSeed, runsPerSeed } from './run.ts';

/** About 1,700 runs, 240 and 240. */
const seeds: Readonly<Record<EngineName, number>> = { duckdb: 35, postgres: 5, clickhouse: 5 };

describe.each(engineNames)('%s', (name) => {
  const engine = useEngine(name);
  test('an answer is that over a copy of what the user may see', { timeout: 300_000 }, async () => {
    const outcomes = noOutcomes();
    await fc.assert(
      fc.asyncProperty(fc.nat(), (seed) => runSeed(engine(), seed, outcomes)),
      // A world made of a smaller seed is no smaller.
      { numRuns: seeds[name], endOnFailure: true },
    );
    // The few worlds of the other engines may be of one kind.
    if (name !== 'duckdb') return;
    const runs = seeds[name] * runsPerSeed;
    // Most are answered, many with rows, some with masks in them, or the property would hold by refusing.
    expect(outcomes.refused + outcomes.skipped).toBeLessThan(0.35 * runs);
    expect(outcomes.answered + outcomes.masked).toBeGreaterThan(0.25 * runs);
    expect(outcomes.masked).toBeGreaterThan(0.03 * runs);
  });
});

describe('seeds that failed once', () => {
  const engine = useEngine('duckdb');
  test.each(keptSeeds)('%i', (seed) => runSeed(engine(), seed, noOutcomes()));
});
