import { describe, expect, test } from 'vitest';
import { phrasesOf } from '../src/query/find-values.ts';
import { createValueLists } from '../src/query/value-lists.ts';

const query = (sql: string, ...parameters: (string | bigint | number)[]) => ({ sql, parameters, columns: ['x'] });
const now = new Date('2026-01-01T00:00:00Z');
const later = (ms: number) => new Date(now.getTime() + ms);

test('the runs of words of a question, in any case, with and without a final s', () => {
  const phrases = phrasesOf("Revenue for mobile app, shoe and O'Neill & Sons");
  for (const phrase of ['mobile app', 'shoes', "o'neill & sons", 'revenue for mobile app shoe and'])
    expect(phrases).toContain(phrase);
  expect(phrasesOf(' … ')).toEqual(new Set());
  expect(phrasesOf('word '.repeat(30_000)).size).toBeLessThan(1000);
});

describe('lists of values', () => {
  test('are kept under the query with all its bound values, and under nothing less', async () => {
    const lists = createValueLists();
    const asked: string[] = [];
    const get = (key: string, ...parameters: (string | bigint | number)[]) =>
      lists.get(query(key, ...parameters), now, async () => {
        asked.push([key, ...parameters.map((value) => `${typeof value} ${value}`)].join());
        return [`value ${asked.length}`];
      });
    expect(await get('a', 7n)).toEqual(['value 1']);
    expect(await get('a', 7n)).toEqual(['value 1']);
    expect(await get('a', 8n)).toEqual(['value 2']);
    expect(await get('a', '7')).toEqual(['value 3']);
    expect(await get('a', 7)).toEqual(['value 4']);
    expect(await get('b', 7n)).toEqual(['value 5']);
    expect(await get('a', 7n)).toEqual(['value 1']);
    expect(asked).toHaveLength(5);
  });

  test('are read anew after a while', async () => {
    const lists = createValueLists();
    const get = (at: Date, value: string) => lists.get(query('a'), at, async () => [value]);
    expect(await get(now, 'old')).toEqual(['old']);
    expect(await get(later(299_000), 'new')).toEqual(['old']);
    expect(await get(later(300_000), 'new')).toEqual(['new']);
  });

  test('are read once by all who ask at once; if that fails, each reads for itself', async () => {
    const lists = createValueLists();
    const first = Promise.withResolvers<string[]>();
    const reads: number[] = [];
    const asks = [0, 1, 2].map((who) =>
      lists.get(query('a'), now, () => {
        reads.push(who);
        return who === 0 ? first.promise : Promise.resolve(['read again']);
      }),
    );
    expect(reads).toEqual([0]);
    first.reject(new Error('aborted'));
    await expect(asks[0]).rejects.toThrow('aborted');
    expect(await asks[1]).toEqual(['read again']);
    expect(await asks[2]).toEqual(['read again']);
    expect(reads).toEqual([0, 1]);
  });

  test('stay bounded: the oldest go', async () => {
    const lists = createValueLists();
    let reads = 0;
    const get = (key: string) =>
      lists.get(query(key), now, async () => {
        reads += 1;
        return Array.from({ length: 500 }, (_, index) => `${key} ${index}`);
      });
    for (let index = 0; index <= 400; index += 1) await get(`q${index}`);
    expect(reads).toBe(401);
    await get('q400');
    expect(reads).toBe(401);
    await get('q0');
    expect(reads).toBe(402);
  });
});
