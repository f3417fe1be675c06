/** Rounds of work: never two at a time, and none after the end. */
import { afterEach, expect, test, vi } from 'vitest';
import { repeat } from '../src/repeat.ts';

afterEach(() => void vi.useRealTimers());

test('rounds follow each other, one at a time, also after one that failed', async () => {
  const errors: unknown[] = [];
  const failure = new Error('once');
  let [begun, atOnce, most] = [0, 0, 0];
  await using _rounds = repeat(
    async () => {
      begun += 1;
      atOnce += 1;
      most = Math.max(most, atOnce);
      await new Promise((resolve) => setTimeout(resolve, 3));
      atOnce -= 1;
      if (begun === 2) throw failure;
    },
    { firstMs: 0, everyMs: 1 },
    (error) => errors.push(error),
  );
  await expect.poll(() => begun).toBeGreaterThan(3);
  expect([most, errors]).toEqual([1, [failure]]);
});

test('disposing tells the round under way, waits for it, and begins no other', async () => {
  vi.useFakeTimers();
  const { promise: end, resolve } = Promise.withResolvers<void>();
  let [count, wasTold, isOver] = [0, false, false];
  const rounds = repeat(
    async (stopped) => {
      count += 1;
      await end;
      wasTold = stopped.aborted;
    },
    { firstMs: 0, everyMs: 0 },
    () => undefined,
  );
  await vi.advanceTimersByTimeAsync(1);
  const disposed = rounds[Symbol.asyncDispose]().then(() => {
    isOver = true;
  });
  await vi.advanceTimersByTimeAsync(1000);
  expect(isOver).toBe(false);
  resolve();
  await disposed;
  await vi.advanceTimersByTimeAsync(1000);
  expect([count, wasTold]).toEqual([1, true]);
});

test('disposing before the first round begins none', async () => {
  vi.useFakeTimers();
  let count = 0;
  const rounds = repeat(
    async () => {
      count += 1;
    },
    { firstMs: 0, everyMs: 0 },
    () => undefined,
  );
  await rounds[Symbol.asyncDispose]();
  await vi.advanceTimersByTimeAsync(1000);
  expect(count).toBe(0);
});
