import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { readUntil } from '../src/agent/read-until.ts';
import { settleUntil } from '../src/waiting.ts';

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
    for await (const values of readUntil(open, never, 60_000)) if (values.length > 0) break;
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    expect((await Array.fromAsync(readUntil(open, never, 60_000))).flat()).toEqual([1, 2, 3]);
  });

  test('a slow reader is not taken for a silent stream', async () => {
    async function* open(): AsyncGenerator<number> {
      yield 1;
      await nextTurn();
      yield 2;
    }
    const seen: number[] = [];
    for await (const values of readUntil(open, never, 1)) {
      seen.push(...values);
      // Longer than the silence that the stream is allowed.
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(seen).toEqual([1, 2]);
  });

  test('what is there at one moment comes together, and never more than a bounded part of it', async () => {
    let taken = 0;
    async function* open(): AsyncGenerator<number> {
      for (; taken < 1000; taken += 1) {
        if (taken === 3) await nextTurn();
        yield taken;
      }
    }
    const seen: (readonly number[])[] = [];
    for await (const values of readUntil(open, never, 60_000)) {
      seen.push(values);
      // Nobody reads on: the stream is not drawn dry meanwhile.
      await nextTurn();
      expect(taken - seen.flat().length).toBeLessThan(300);
    }
    expect(seen[0]).toEqual([0, 1, 2]);
    expect(seen.flat()).toEqual(Array.from({ length: 1000 }, (_, value) => value));
    expect(seen.length).toBeLessThan(20);
  });

  test('a failure comes after what was said before it', async () => {
    async function* open(): AsyncGenerator<number> {
      yield 1;
      yield 2;
      throw new Error('broken');
    }
    const seen: number[] = [];
    const reading = async (): Promise<void> => {
      for await (const values of readUntil(open, never, 60_000)) seen.push(...values);
    };
    await expect(reading()).rejects.toMatchObject({ code: 'LANGUAGE_MODEL_FAILED' });
    expect(seen).toEqual([1, 2]);
  });

  test('a signal ends the reading of a stream that does not heed it', async () => {
    const stop = new AbortController();
    async function* open(): AsyncGenerator<number> {
      yield 1;
      await new Promise(() => undefined);
    }
    const seen: number[] = [];
    const reading = async (): Promise<void> => {
      for await (const values of readUntil(open, stop.signal, 60_000)) {
        seen.push(...values);
        setImmediate(() => stop.abort(new Error('stopped')));
      }
    };
    await expect(reading()).rejects.toThrow('stopped');
    expect(seen).toEqual([1]);
  });
});
