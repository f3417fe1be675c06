/** Work of the agent while the store does not answer. */
import { describe, expect, it } from 'vitest';
import { whileStoreAway } from '../src/agent/while-store-away.ts';
import { InlayError } from '../src/errors.ts';

const away = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
const failing = (times: number, error: unknown) => {
  let calls = 0;
  return {
    calls: () => calls,
    work: async () => {
      calls += 1;
      if (calls <= times) throw error;
      return 'done';
    },
  };
};

describe('whileStoreAway', () => {
  it('tries again until the store is back', async () => {
    const { work, calls } = failing(2, away);
    expect(await whileStoreAway(work, new AbortController().signal)).toBe('done');
    expect(calls()).toBe(3);
  });

  it('throws anything else at once', async () => {
    const refusal = new InlayError('NOT_FOUND', 'No such thing.');
    const { work, calls } = failing(1, refusal);
    await expect(whileStoreAway(work, new AbortController().signal)).rejects.toBe(refusal);
    expect(calls()).toBe(1);
  });

  it('ends with the signal', async () => {
    const stop = new AbortController();
    const reason = new InlayError('ABORTED', 'Stopped by the user.');
    const { work, calls } = failing(Number.POSITIVE_INFINITY, away);
    const waiting = whileStoreAway(async () => {
      if (calls() === 1) stop.abort(reason);
      return work();
    }, stop.signal);
    await expect(waiting).rejects.toBeInstanceOf(Error);
    expect(calls()).toBeLessThanOrEqual(2);
  });
});
