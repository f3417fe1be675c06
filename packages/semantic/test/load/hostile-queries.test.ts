/** JSON queries that nobody sends in good faith, and honest mistakes: each refused by name, or answered rightly. */
import { beforeAll, describe, expect, test } from 'vitest';
import { parseLoadQuery } from '../../src/query/load-query.ts';
import { SemanticError } from '../../src/semantic-error.ts';
import { useEngine } from '../engines.ts';
import { asked, ok } from './hostile-queries.ts';
import { ask, createThings, now } from './load-world.ts';

describe('JSON queries', () => {
  const engine = useEngine('duckdb');
  beforeAll(() =>
    createThings(engine(), [
      { id: 0, word: "o'x", size: -1.5, flag: true, at: '2024-01-01 00:00:00' },
      { id: 1, word: '50%', size: 2, flag: false, at: '2024-02-01 00:00:00' },
      { id: 2, word: '\\', size: 3, flag: null, at: null },
    ]),
  );

  for (const [what, json, said, count] of asked) {
    test(what, async () => {
      const reply = await ask(engine(), json).then(
        ({ rows }) => rows,
        (error: unknown) => {
          if (error instanceof SemanticError) return `${error.code} ${error.message} ${error.hint}`;
          throw error;
        },
      );
      if (said === ok) expect(reply).toEqual([[count, ...(Array.isArray(reply) ? (reply[0]?.slice(1) ?? []) : [])]]);
      else expect(String(reply).slice(0, said.length)).toBe(said);
    });
  }

  test('there are enough of them', () => {
    expect(asked.length).toBeGreaterThan(100);
    expect(new Set(asked.map(([what]) => what)).size).toBe(asked.length);
  });
});

test('what comes back is the query with all that it left out, and can be sent again', () => {
  const options = { now, timezone: 'Europe/Berlin' };
  const json = {
    measures: ['things.count'],
    timeDimensions: [{ dimension: 'things.at', granularity: 'day', dateRange: 'last 2 days' }],
    order: [['things.count', 'desc']],
    total: true,
  };
  const [query] = parseLoadQuery(json, options);
  expect(query?.normalised).toEqual({
    measures: ['things.count'],
    dimensions: [],
    segments: [],
    filters: [],
    timeDimensions: [
      { dimension: 'things.at', granularity: 'day', dateRange: ['2024-03-13T00:00:00.000', '2024-03-14T23:59:59.999'] },
    ],
    order: [{ id: 'things.count', desc: true }],
    limit: 10_000,
    rowLimit: 10_000,
    offset: 0,
    total: true,
    timezone: 'Europe/Berlin',
    fillMissingDates: false,
    responseFormat: 'default',
  });
  expect(parseLoadQuery(query?.normalised, options)).toEqual([query]);
});
