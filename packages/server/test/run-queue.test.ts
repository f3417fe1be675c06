/** Whose run is worked on next when there are more than places. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createFairQueue, createRunPlaces } from '../src/chat/run-queue.ts';

/** Something that happens to a queue: one comes under a key, the next goes, or one of those that wait gives up. */
const happening = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('push' as const), key: fc.integer({ min: 0, max: 4 }) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('shift' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('remove' as const), at: fc.nat(50) }) },
);

describe('a fair queue', () => {
  test('within a key the first goes first, and no key goes twice while another that waits goes not at all', () => {
    fc.assert(
      fc.property(fc.array(happening, { maxLength: 200 }), (happenings) => {
        const queue = createFairQueue<number>();
        let waiting: { key: number; item: number }[] = [];
        /** Since when a key has something waiting, and who went since. */
        const passedBy = new Map<number, number[]>();
        for (const [item, what] of happenings.entries()) {
          if (what.kind === 'push') {
            queue.push(what.key, item);
            waiting.push({ key: what.key, item });
            if (!passedBy.has(what.key)) passedBy.set(what.key, []);
          } else if (what.kind === 'remove') {
            const one = waiting[what.at];
            if (one === undefined) continue;
            expect(queue.remove(one.key, one.item)).toBe(true);
            expect(queue.remove(one.key, one.item)).toBe(false);
            waiting = waiting.filter((other) => other !== one);
          } else {
            const next = queue.shift();
            if (waiting.length === 0) {
              expect(next).toBeUndefined();
              continue;
            }
            const one = waiting.find((other) => other.item === next);
            if (one === undefined) throw new Error('nobody who waits');
            expect(waiting.find(({ key }) => key === one.key)).toBe(one);
            expect(passedBy.get(one.key)?.length).toBe(new Set(passedBy.get(one.key)).size);
            waiting = waiting.filter((other) => other !== one);
            passedBy.delete(one.key);
            for (const keys of passedBy.values()) keys.push(one.key);
            if (waiting.some(({ key }) => key === one.key)) passedBy.set(one.key, []);
          }
          for (const key of passedBy.keys()) if (waiting.every((other) => other.key !== key)) passedBy.delete(key);
          expect(queue.size).toBe(waiting.length);
          for (const keys of passedBy.values()) expect(keys.length).toBe(new Set(keys).size);
        }
      }),
    );
  });
});

describe('places', () => {
  /** Work that can be ended, and what has begun so far. */
  function someWork() {
    const begun: string[] = [];
    const ends = new Map<string, () => void>();
    const work = (name: string) => async (): Promise<void> => {
      begun.push(name);
      const { promise, resolve } = Promise.withResolvers<void>();
      ends.set(name, resolve);
      await promise;
    };
    const end = async (name: string): Promise<void> => {
      ends.get(name)?.();
      await new Promise((resolve) => setImmediate(resolve));
    };
    return { begun, work, end };
  }

  test('are taken at once while there are any, then by the accounts in turn', async () => {
    const { begun, work, end } = someWork();
    const places = createRunPlaces(2, 5);
    for (const name of ['a1', 'a2', 'a3', 'a4', 'b1', 'c1']) places.enter(name.charCodeAt(0), work(name));
    expect([begun, places.room]).toEqual([['a1', 'a2'], 1]);
    for (const name of ['a1', 'a2', 'a3', 'b1', 'c1', 'a4']) await end(name);
    expect([begun, places.room]).toEqual([['a1', 'a2', 'a3', 'b1', 'c1', 'a4'], 7]);
  });

  test('whoever has nothing to do but to end does not wait for one', async () => {
    const { begun, work, end } = someWork();
    const places = createRunPlaces(1, 5);
    places.enter(1, work('a'));
    const hurry = places.enter(1, work('b'));
    places.enter(1, work('c'));
    hurry();
    hurry();
    expect(begun).toEqual(['a', 'b']);
    await end('b');
    expect([begun, places.room]).toEqual([['a', 'b'], 4]);
    await end('a');
    expect(begun).toEqual(['a', 'b', 'c']);
  });
});
