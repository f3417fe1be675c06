/** Kept answers: shared exactly by key, read once for all who wait, stopped when nobody waits, bounded. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { type AnswerCache, createAnswerCache } from '../src/query/answer-cache.ts';

interface Answer {
  readonly text: string;
}

const never = new AbortController().signal;
const bytesOf = ({ text }: Answer): number => text.length;
const cacheOf = (bytesMax = 10_000): AnswerCache<Answer> => createAnswerCache<Answer>({ bytesMax, bytesOf });

/** A reader that counts its readings and answers when told to. */
function reader() {
  const readings: { signal: AbortSignal; answer: (text: string) => void; fail: (error: Error) => void }[] = [];
  const read = (signal: AbortSignal): Promise<Answer> => {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    readings.push({ signal, answer: (text) => resolve({ text }), fail: reject });
    signal.addEventListener('abort', () => reject(signal.reason));
    return promise;
  };
  return { readings, read };
}

describe('kept answers', () => {
  test('who asks the same at the same time waits for one reading; later ones get what is kept', async () => {
    const cache = cacheOf();
    const { readings, read } = reader();
    const both = [1, 2].map(() => cache.get('a', { keptMs: 60_000, signal: never, read }));
    expect(readings).toHaveLength(1);
    readings[0]?.answer('first');
    expect(await Promise.all(both)).toEqual([{ text: 'first' }, { text: 'first' }]);
    expect(await cache.get('a', { keptMs: 60_000, signal: never, read })).toEqual({ text: 'first' });
    expect(readings).toHaveLength(1);
  });

  test('another key is another answer', async () => {
    const cache = cacheOf();
    const ask = (key: string) => cache.get(key, { keptMs: 60_000, signal: never, read: async () => ({ text: key }) });
    expect(await Promise.all([ask('a'), ask('b'), ask('a ')])).toEqual([{ text: 'a' }, { text: 'b' }, { text: 'a ' }]);
  });

  test('what is kept ends', async () => {
    const cache = cacheOf();
    let count = 0;
    const ask = () => cache.get('a', { keptMs: 1, signal: never, read: async () => ({ text: String(++count) }) });
    expect(await ask()).toEqual({ text: '1' });
    while ((await ask()).text === '1') await sleep(1);
    expect(count).toBeGreaterThan(1);
  });

  test('not kept, but shared by those who wait', async () => {
    const cache = cacheOf();
    const { readings, read } = reader();
    const both = [1, 2].map(() => cache.get('a', { keptMs: 0, signal: never, read }));
    readings[0]?.answer('first');
    await Promise.all(both);
    void cache.get('a', { keptMs: 0, signal: never, read });
    expect(readings).toHaveLength(2);
  });

  test('one who leaves stops nobody else; the last one to leave stops the reading, and the next one reads anew', async () => {
    const cache = cacheOf();
    const { readings, read } = reader();
    const [one, other] = [new AbortController(), new AbortController()];
    const asked = [one, other].map(({ signal }) => cache.get('a', { keptMs: 60_000, signal, read }));
    one.abort(new Error('one'));
    await expect(asked[0]).rejects.toThrow('one');
    expect(readings[0]?.signal.aborted).toBe(false);
    other.abort(new Error('other'));
    await expect(asked[1]).rejects.toThrow('other');
    expect(readings[0]?.signal.aborted).toBe(true);
    const next = cache.get('a', { keptMs: 60_000, signal: never, read });
    readings[1]?.answer('second');
    expect(await next).toEqual({ text: 'second' });
  });

  test('a failure is for those who wait, and is not kept', async () => {
    const cache = cacheOf();
    const { readings, read } = reader();
    const both = [1, 2].map(() => cache.get('a', { keptMs: 60_000, signal: never, read }));
    readings[0]?.fail(new Error('broken'));
    expect((await Promise.allSettled(both)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    const next = cache.get('a', { keptMs: 60_000, signal: never, read });
    readings[1]?.answer('second');
    expect(await next).toEqual({ text: 'second' });
  });

  test('one who has left already does not begin', async () => {
    const { readings, read } = reader();
    const signal = AbortSignal.abort(new Error('gone'));
    await expect(cacheOf().get('a', { keptMs: 1000, signal, read })).rejects.toThrow('gone');
    expect(readings).toEqual([]);
  });

  test('is bounded: the longest unused go, and what is too large is not kept', async () => {
    const cache = cacheOf(800);
    const counts = new Map<string, number>();
    const ask = (key: string, length: number) =>
      cache.get(key, {
        keptMs: 60_000,
        signal: never,
        read: async () => {
          counts.set(key, (counts.get(key) ?? 0) + 1);
          return { text: 'x'.repeat(length) };
        },
      });
    await ask('large', 101);
    await ask('large', 101);
    expect(counts.get('large')).toBe(2);
    for (const key of ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9']) await ask(key, 90);
    await ask('9', 90);
    await ask('0', 90);
    expect([counts.get('9'), counts.get('0')]).toEqual([1, 2]);
  });

  test('switched off, everyone reads for themselves', async () => {
    const { readings, read } = reader();
    const cache = cacheOf(0);
    for (const _ of [1, 2]) void cache.get('a', { keptMs: 60_000, signal: never, read });
    expect(readings).toHaveLength(2);
  });
});
