import { expect, test } from 'vitest';
import { createLocks } from '../src/chat/exclusively.ts';

test('work under a key waits for the work before it, other keys do not, and a failure stops nobody', async () => {
  const exclusively = createLocks();
  const gate = Promise.withResolvers<void>();
  const done: string[] = [];
  const first = exclusively('a', async () => {
    await gate.promise;
    done.push('first');
    throw new Error('failed');
  });
  const second = exclusively('a', async () => void done.push('second'));
  const third = exclusively('a', async () => void done.push('third'));
  expect(await exclusively('b', async () => 'other')).toBe('other');
  expect(done).toEqual([]);
  gate.resolve();
  await expect(first).rejects.toThrow('failed');
  await Promise.all([second, third]);
  expect(done).toEqual(['first', 'second', 'third']);
  await exclusively('a', async () => void done.push('later'));
  expect(done.at(-1)).toBe('later');
});
