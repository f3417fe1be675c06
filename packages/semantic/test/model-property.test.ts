/** Whatever the shape of the model, the data and the question: the answer is the one that the definition gives, or none. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compileSql } from '../src/compile-sql.ts';
import { duckdb } from '../src/dialects/duckdb.ts';
import { SemanticError } from '../src/semantic-error.ts';
import { bruteForce } from './brute-force.ts';
import { ddlOf, randomFrom, randomQuery, randomWorld, sqlOf, yamlOf } from './random-model.ts';
import { load, merchant, openEngine } from './shop.ts';

const somebody = merchant(null, { groups: ['u'], userAttributes: { owner: 1 } });

/** Rows as one sorted text each; numbers to nine digits, whatever type they came in. */
const comparable = (rows: readonly (readonly unknown[])[]): string[] =>
  rows
    .map((row) =>
      JSON.stringify(
        row.map((cell) => {
          const isNumber = typeof cell === 'number' || (typeof cell === 'string' && /^-?\d+(\.\d+)?$/.test(cell));
          return isNumber ? Number(Number(cell).toPrecision(9)) : cell;
        }),
      ),
    )
    .sort();

test('random models, data and questions: right, or refused where rows would be every combination', {
  timeout: 120_000,
}, async () => {
  const connection = await openEngine();
  let answered = 0;
  let asked = 0;
  await fc.assert(
    fc.asyncProperty(fc.integer(), async (seed) => {
      const random = randomFrom(seed);
      const world = randomWorld(random);
      const model = load(yamlOf(world));
      await connection.run(ddlOf(world));
      for (let count = 0; count < 8; count += 1) {
        const query = randomQuery(random, world);
        const sql = sqlOf(query);
        asked += 1;
        try {
          const compiled = compileSql(sql, model, somebody, duckdb);
          const rows = (await connection.runAndReadAll(compiled.sql, [...compiled.parameters])).getRowsJson();
          answered += 1;
          expect(comparable(rows), `${sql}\n${compiled.sql}\n${yamlOf(world)}`).toEqual(
            comparable(bruteForce(world, query)),
          );
        } catch (error) {
          if (!(error instanceof SemanticError) || query.isGrouped) throw error;
          expect(error.message).toMatch(/every combination/);
        }
      }
    }),
    { numRuns: Number(process.env['MODEL_RUNS'] ?? 50) },
  );
  // Most are answered, or the property would hold by refusing.
  expect(answered).toBeGreaterThan(asked * 0.9);
});
