/** Random graphs of cubes, views of several roots, cubes joined by the query: the answer is the one that the definition gives, or none. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SemanticError } from '../../src/semantic-error.ts';
import { createTable, engineNames, useEngine } from '../engines.ts';
import { loadModel } from '../load-model.ts';
import { anybody, ask, compileQuestion, sorted } from './ask.ts';
import { type NoAnswer, oracle } from './graph-oracle.ts';
import { columnsOf, randomFrom, randomGraph, randomQuestion, toQuestion, yamlOf } from './random-graph.ts';

const somebody = { ...anybody, groups: ['u'], userAttributes: { owner: 1 }, seesUnprotected: false };
// Where one member is not reached and another twice, either is told.
const ways = /no join leads there|more than one way|does not join/;
const messages: Readonly<Record<NoAnswer, RegExp>> = {
  'no way': ways,
  'several ways': ways,
  'no key': /has no primary key/,
  'every combination': /every combination/,
};
const runsMax = Number(process.env['PLAN_RUNS'] ?? 60);
const runs = { duckdb: runsMax, postgres: Math.ceil(runsMax / 4), clickhouse: Math.ceil(runsMax / 6) };

describe.each(engineNames)('%s', (name) => {
  const engine = useEngine(name);
  test('right, or refused for the reason that there is', { timeout: 60_000 + runsMax * 1000 }, async () => {
    let [answered, asked, made] = [0, 0, 0];
    await fc.assert(
      fc.asyncProperty(fc.integer(), async (seed) => {
        const random = randomFrom(seed);
        const graph = randomGraph(random);
        const prefix = `w${made}_`;
        made += 1;
        const yaml = yamlOf(graph, prefix);
        const model = loadModel(yaml);
        const columns = columnsOf(graph);
        for (const { name: cube, table, rows } of graph.cubes) {
          if (cube !== table) continue;
          const values = rows.map((row) => Object.keys(columns).map((column) => row[column] ?? null));
          await createTable(engine(), `${prefix}${table}`, columns, values);
        }
        for (let count = 0; count < 10; count += 1) {
          const question = randomQuestion(random, graph);
          const expected = oracle(graph, question);
          asked += 1;
          if ('why' in expected) {
            const told = `${JSON.stringify(question)}\n${yaml}`;
            expect(() => compileQuestion(toQuestion(question), model, engine().dialect, somebody), told).toThrow(
              messages[expected.why],
            );
            continue;
          }
          answered += 1;
          const told = () =>
            `${JSON.stringify(question)}\n${compileQuestion(toQuestion(question), model, engine().dialect, somebody).sql}\n${yaml}`;
          try {
            const rows = await ask(toQuestion(question), model, engine(), somebody);
            expect(rows, told()).toEqual(sorted(expected.rows));
          } catch (error) {
            if (error instanceof SemanticError)
              throw new Error(`refused: ${error.message}\n${JSON.stringify(question)}\n${yaml}`);
            throw error;
          }
        }
      }),
      { numRuns: runs[name] },
    );
    // Most are answered, or the property would hold by refusing.
    expect(answered).toBeGreaterThan(asked * 0.5);
  });
});
