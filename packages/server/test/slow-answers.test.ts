import { expect, test } from 'vitest';
import { createSlowAnswers, type SlowCall } from '../src/query/slow-answers.ts';

/** Work that ends when the test says so. */
function workOf(name: string) {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const seen: { stopped: boolean; begun: number } = { stopped: false, begun: 0 };
  const call = (more: Partial<SlowCall<string>> = {}): SlowCall<string> => ({
    key: 'key',
    userId: 1,
    identity: 'same',
    now: new Date(0),
    signal: new AbortController().signal,
    work: async (signal) => {
      seen.begun += 1;
      signal.addEventListener('abort', () => {
        seen.stopped = true;
        reject(signal.reason);
      });
      return promise;
    },
    ...more,
  });
  return { call, seen, end: () => resolve(name), fail: (error: Error) => reject(error) };
}

const open = (more: { perUserMax?: number; abandonedMs?: number; waitMs?: number } = {}) =>
  createSlowAnswers<string>({ waitMs: 5, perUserMax: 2, abandonedMs: 60_000, ...more });

test('work is begun once, waited for by who comes back, and then forgotten', async () => {
  using slow = open();
  const { call, seen, end } = workOf('answer');
  expect(await slow.ask(call())).toEqual({ isReady: false });
  expect(slow.begunAt('key')).toEqual(new Date(0));
  const both = [slow.ask(call({ now: new Date(9) })), slow.ask(call())];
  end();
  expect(await Promise.all(both)).toEqual([
    { isReady: true, answer: 'answer' },
    { isReady: true, answer: 'answer' },
  ]);
  expect([seen.begun, slow.begunAt('key')]).toEqual([1, null]);
});

test('an answer that comes while nobody waits is there for the next call; a failure, too', async () => {
  using slow = open();
  const one = workOf('answer');
  expect(await slow.ask(one.call())).toEqual({ isReady: false });
  one.end();
  expect(await slow.ask(one.call())).toEqual({ isReady: true, answer: 'answer' });
  const other = workOf('never');
  expect(await slow.ask(other.call())).toEqual({ isReady: false });
  other.fail(new Error('broken'));
  await expect(slow.ask(other.call())).rejects.toThrow('broken');
  expect(slow.begunAt('key')).toBeNull();
});

test('work that nobody comes back for is stopped', async () => {
  using slow = open({ abandonedMs: 5 });
  const { call, seen } = workOf('never');
  expect(await slow.ask(call())).toEqual({ isReady: false });
  await expect.poll(() => seen.stopped).toBe(true);
  expect(slow.begunAt('key')).toBeNull();
});

test('a caller who goes away stops the work, unless another waits for it', async () => {
  using slow = open({ waitMs: 60_000 });
  const { call, seen, end } = workOf('answer');
  const [first, second] = [new AbortController(), new AbortController()];
  const asked = [slow.ask(call({ signal: first.signal })), slow.ask(call({ signal: second.signal }))] as const;
  first.abort(new Error('gone'));
  await expect(asked[0]).rejects.toThrow('gone');
  expect(seen.stopped).toBe(false);
  end();
  expect(await asked[1]).toEqual({ isReady: true, answer: 'answer' });

  const alone = workOf('never');
  const asking = slow.ask(alone.call({ signal: second.signal }));
  second.abort(new Error('gone'));
  await expect(asking).rejects.toThrow('gone');
  expect(alone.seen.stopped).toBe(true);
});

test('rights that have changed are another identity: the work that was begun is not waited for', async () => {
  using slow = open();
  const before = workOf('before');
  const after = workOf('after');
  expect(await slow.ask(before.call())).toEqual({ isReady: false });
  after.end();
  expect(await slow.ask(after.call({ identity: 'other' }))).toEqual({ isReady: true, answer: 'after' });
  expect(before.seen.stopped).toBe(true);
});

test('a user with as much work as one may have waits to the end; another user does not', async () => {
  using slow = open({ perUserMax: 1 });
  const first = workOf('first');
  expect(await slow.ask(first.call({ key: 'a' }))).toEqual({ isReady: false });
  const second = workOf('second');
  const asking = slow.ask(second.call({ key: 'b' }));
  expect(slow.begunAt('b')).toBeNull();
  const other = workOf('other');
  expect(await slow.ask(other.call({ key: 'c', userId: 2 }))).toEqual({ isReady: false });
  second.end();
  expect(await asking).toEqual({ isReady: true, answer: 'second' });
  slow[Symbol.dispose]();
  expect([first.seen.stopped, other.seen.stopped]).toEqual([true, true]);
});
