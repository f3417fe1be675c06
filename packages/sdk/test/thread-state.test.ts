import type { Frame } from '@inlay/contract/chat.ts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { applyFrame, emptyThread, finalAnswer, finalAnswers, foldFrames } from '../src/thread-state.ts';

const whole = (id: string, content: string, sort: number, more: Partial<Frame> = {}): Frame => ({
  id,
  role: 'assistant',
  content,
  isDelta: false,
  isInProcess: false,
  sort,
  ...more,
});
const delta = (id: string, content: string, sort: number): Frame =>
  whole(id, content, sort, { isDelta: true, isInProcess: true });
const contents = (frames: readonly Frame[]): string[] => foldFrames(frames).messages.map(({ content }) => content);

describe('a thread', () => {
  test('appends deltas, and takes a whole message in their place', () => {
    const frames = [delta('a', 'one ', 2), delta('a', 'two', 2)];
    expect(contents(frames)).toEqual(['one two']);
    expect(contents([...frames, whole('a', 'One, two.', 2)])).toEqual(['One, two.']);
    expect(contents([whole('a', 'one ', 2, { isInProcess: true }), delta('a', 'two', 2)])).toEqual(['one two']);
  });

  test('is in the order of sort, however its messages come', () => {
    const ids = fc.shuffledSubarray([1, 2, 3, 4, 5, 6], { minLength: 1 });
    fc.assert(
      fc.property(ids, (sorts) => {
        const frames = sorts.map((sort) => whole(`m${sort}`, String(sort), sort));
        expect(contents(frames)).toEqual(sorts.toSorted().map(String));
      }),
    );
    expect(contents([whole('a', 'a', 1), whole('b', 'b', 2), whole('a', 'moved', 3)])).toEqual(['b', 'moved']);
  });

  test('does not change the state it is given', () => {
    const state = foldFrames([delta('a', 'one', 1)]);
    const copy = structuredClone(state);
    applyFrame(state, delta('a', ' two', 1));
    expect(state).toEqual(copy);
  });

  test('knows its id, whether it is streaming, and how the run ended', () => {
    const cutoff: Frame = { ...whole('__cutoff__', '', 0), state: { chatId: 't', isStreaming: true } };
    const usage = { models: ['m'], llmCalls: 1, inputTokens: 0, outputTokens: 0, totalTokens: 0, queries: 0, rows: 0 };
    expect(foldFrames([cutoff])).toEqual({ ...emptyThread, chatId: 't', isStreaming: true });
    const failed = [cutoff, whole('__error__', '', 3, { error: 'No.', code: 'INTERNAL', requestId: 'r' })];
    const ended = foldFrames([...failed, whole('__usage__', '', 4, { usage })]);
    const error = { code: 'INTERNAL', message: 'No.', requestId: 'r' };
    expect(ended).toEqual({ ...emptyThread, chatId: 't', error, usage });
    expect(foldFrames([whole('__aborted__', '', 5)], ended).isAborted).toBe(true);
    expect(foldFrames([cutoff], ended)).toEqual({ ...emptyThread, chatId: 't', isStreaming: true });
  });

  test('has the final answer of its newest run', () => {
    const frames = [
      whole('a', 'text', 1, { graphPath: ['platform_data_analyst_agent'] }),
      whole('b', 'first', 2, { graphPath: ['final'] }),
      whole('c', 'user', 3, { role: 'user', graphPath: ['final'] }),
      whole('d', 'too deep', 4, { graphPath: ['final', 'x', 'y'] }),
      whole('e', 'second', 5, { graphPath: ['final', 'x'] }),
    ];
    expect(finalAnswers(frames)).toEqual(['first', 'second']);
    expect(finalAnswer(frames)).toBe('second');
    expect(finalAnswer(frames.slice(0, 1))).toBeNull();
  });
});
