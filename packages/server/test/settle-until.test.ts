import { describe, expect, test } from 'vitest';
import { readUntil, settleUntil } from '../src/agent/settle-until.ts';

const never = new AbortController().signal;

describe('waiting for others', () => {
  test('ends with the work, or with the signal though the work goes on', async () => {
    expect(await settleUntil(Promise.resolve(1), never)).toBe(1);
    await expect(settleUntil(Promise.reject(new Error('no')), never)).rejects.toThrow('no');
    const stop = new AbortController();
    const waiting = settleUntil(new Promise(() => undefined), stop.signal);
    stop.abort(new Error('stopped'));
    await expect(waiting).rejects.toThrow('stopped');
    await expect(settleUntil(Promise.resolve(1), stop.signal)).rejects.toThrow('stopped');
  });

  test('a stream that is not read to its end is told so', async () => {
    const signals: AbortSignal[] = [];
    async function* open(signal: AbortSignal): AsyncGenerator<number> {
      signals.push(signal);
      yield* [1, 2, 3];
    }
    for await (const value of readUntil(open, never, 60_000)) if (value === 2) break;
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    expect(await Array.fromAsync(readUntil(open, never, 60_000))).toEqual([1, 2, 3]);
  });

  test('a slow reader is not taken for a silent stream', async () => {
    async function* open(): AsyncGenerator<number> {
      yield* [1, 2];
    }
    const seen: number[] = [];
    for await (const value of readUntil(open, never, 1)) {
      seen.push(value);
      // Longer than the silence that the stream is allowed.
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(seen).toEqual([1, 2]);
  });
});
