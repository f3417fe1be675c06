/** What is kept in memory: used only while it is certain to be no older than a second. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Change, type Changes, createListeners, heardWithinMs, type News } from '../src/store/changes.ts';
import { createHeardCache, type HeardCache } from '../src/store/heard-cache.ts';

/** A channel that the test speaks on, and a clock that it sets. */
function createWorld(sizeMax = 3): {
  cache: HeardCache<{ readonly id: number; readonly version: number }>;
  tell(news: News): void;
  setHeardUntil(ms: number): void;
  setNow(ms: number): void;
} {
  const listeners = createListeners();
  let heardUntil = Number.NEGATIVE_INFINITY;
  let now = 0;
  const changes: Changes = {
    subscribe: listeners.subscribe,
    heardUntil: () => heardUntil,
    writes: () => null,
    catchUp: async () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  };
  const isAffected = ({ id }: { readonly id: number }, change: Change): boolean =>
    change.kind === 'api-key' && change.id === id;
  const cache = createHeardCache<{ readonly id: number; readonly version: number }>({
    changes,
    ageMsMax: 60_000,
    sizeMax,
    isAffected,
    nowMs: () => now,
  });
  return {
    cache,
    tell: listeners.tell,
    setHeardUntil: (ms) => {
      heardUntil = ms;
    },
    setNow: (ms) => {
      now = ms;
    },
  };
}

/** Reads that say whether they were asked. */
function reader(id: number) {
  let version = 0;
  return { read: async () => ({ id, version: ++version }), reads: () => version };
}

describe('a value in memory', () => {
  test('is used while all changes up to a second ago have been heard, and not a moment longer', async () => {
    const { cache, setHeardUntil, setNow } = createWorld();
    const { read } = reader(1);
    setHeardUntil(0);
    expect(await cache.get('a', read)).toMatchObject({ version: 1 });
    setNow(heardWithinMs - 1);
    expect(await cache.get('a', read)).toMatchObject({ version: 1 });
    setNow(heardWithinMs);
    expect(await cache.get('a', read)).toMatchObject({ version: 2 });
    setHeardUntil(Number.NEGATIVE_INFINITY);
    expect(await cache.get('a', read)).toMatchObject({ version: 3 });
  });

  test('goes with the change that concerns it, and only that', async () => {
    const { cache, setHeardUntil, tell } = createWorld();
    const { read } = reader(1);
    setHeardUntil(0);
    await cache.get('a', read);
    tell({ kind: 'api-key', id: 2 });
    tell({ kind: 'user', id: 1 });
    expect(await cache.get('a', read)).toMatchObject({ version: 1 });
    tell({ kind: 'api-key', id: 1 });
    expect(await cache.get('a', read)).toMatchObject({ version: 2 });
    tell({ kind: 'gap' });
    expect(await cache.get('a', read)).toMatchObject({ version: 3 });
  });

  test.each([
    ['a change of it', { kind: 'api-key', id: 1 }, 2],
    ['a gap', { kind: 'gap' }, 2],
    ['a change of another', { kind: 'api-key', id: 2 }, 1],
  ] as const)('is not kept when %s is heard while it is read', async (_name, news, version) => {
    const { cache, setHeardUntil, tell } = createWorld();
    const { read } = reader(1);
    setHeardUntil(0);
    const { promise, resolve } = Promise.withResolvers<void>();
    const reading = cache.get('a', async () => {
      const value = await read();
      await promise;
      return value;
    });
    await Promise.resolve();
    tell(news);
    resolve();
    expect(await reading).toMatchObject({ version: 1 });
    expect(await cache.get('a', read)).toMatchObject({ version });
  });

  test('that is old is read again, though nothing was told', async () => {
    const { cache, setHeardUntil, setNow } = createWorld();
    const { read } = reader(1);
    await cache.get('a', read);
    setNow(60_000);
    setHeardUntil(60_000);
    expect(await cache.get('a', read)).toMatchObject({ version: 2 });
  });

  test('makes place for others when it was not used for longest', async () => {
    const { cache, setHeardUntil } = createWorld(2);
    const readers = [reader(1), reader(2), reader(3)] as const;
    setHeardUntil(0);
    await cache.get('a', readers[0].read);
    await cache.get('b', readers[1].read);
    await cache.get('a', readers[0].read);
    await cache.get('c', readers[2].read);
    await cache.get('a', readers[0].read);
    await cache.get('b', readers[1].read);
    expect(readers.map(({ reads }) => reads())).toEqual([1, 2, 1]);
  });

  test('nothing, and a failure, are not kept', async () => {
    const { cache, setHeardUntil } = createWorld();
    setHeardUntil(0);
    expect(await cache.get('a', async () => null)).toBeNull();
    await expect(cache.get('a', () => Promise.reject(new Error('no store')))).rejects.toThrow('no store');
    expect(await cache.get('a', reader(1).read)).toMatchObject({ version: 1 });
  });
});

/** What may happen in any order: time passes, somebody commits, a commit is heard, the channel beats, is lost, is back. */
const step = fc.oneof(
  fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 700 }) }),
  fc.record({ do: fc.constantFrom('commit', 'hear', 'beat', 'lose', 'regain', 'begin', 'finish', 'get') }),
);

test('whatever happens in whatever order, nothing is given that is more than a second out of date', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const { cache, tell, setHeardUntil, setNow } = createWorld();
      let now = 0;
      let version = 0;
      /** When each version was committed. */
      const committedMs = [0];
      let unheard = 0;
      let isLost = true;
      const reading: (() => void)[] = [];
      const check = (value: { readonly version: number } | null): void => {
        const next = committedMs[(value?.version ?? 0) + 1];
        // It was right at some instant of the last second.
        if (next !== undefined) expect(now - next).toBeLessThan(heardWithinMs);
      };
      for (const one of steps) {
        switch (one.do) {
          case 'wait':
            now += one.ms;
            setNow(now);
            break;
          case 'commit':
            version += 1;
            committedMs.push(now);
            if (!isLost) unheard += 1;
            break;
          case 'hear':
            if (unheard > 0) tell({ kind: 'api-key', id: 1 });
            unheard = Math.max(0, unheard - 1);
            break;
          case 'beat':
            while (unheard > 0) {
              tell({ kind: 'api-key', id: 1 });
              unheard -= 1;
            }
            if (!isLost) setHeardUntil(now);
            break;
          case 'lose':
            isLost = true;
            unheard = 0;
            setHeardUntil(Number.NEGATIVE_INFINITY);
            break;
          case 'regain':
            if (isLost) tell({ kind: 'gap' });
            isLost = false;
            break;
          case 'begin': {
            // The answer is of this moment, and arrives later.
            const value = { id: 1, version };
            const { promise, resolve } = Promise.withResolvers<typeof value>();
            reading.push(() => resolve(value));
            void cache.get('a', () => promise);
            break;
          }
          case 'finish':
            reading.shift()?.();
            await new Promise<void>((resolve) => setImmediate(resolve));
            break;
          case 'get':
            check(await cache.get('a', async () => ({ id: 1, version })));
            break;
        }
      }
      for (const finish of reading) finish();
    }),
    { numRuns: 500 },
  );
});
