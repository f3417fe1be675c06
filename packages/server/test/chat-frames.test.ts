import type { Frame } from '@inlay/contract/chat.ts';
import { emptyThread, foldFrames, type ThreadState } from '@inlay/sdk/thread-state.ts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AgentEvent } from '../src/agent/events.ts';
import { applyEvent, joinRun, type Message, messageFrame, startRun } from '../src/chat/frames.ts';
import { createThreadLog } from '../src/chat/thread-log.ts';
import { noUsage } from '../src/chat/write-run.ts';

/** What an agent may do, one message after the other, and how it may end. */
const part = fc.oneof(
  fc.array(fc.string({ minLength: 1, unit: 'grapheme' }), { minLength: 1, maxLength: 5 }),
  fc.record({ result: fc.json() }),
);
const end = fc.constantFrom<'final' | 'aborted' | 'failed'>('final', 'aborted', 'failed');

function toEvents(
  parts: readonly (readonly string[] | { readonly result: string })[],
  how: 'final' | 'aborted' | 'failed',
): AgentEvent[] {
  const events = parts.flatMap((one, index): AgentEvent[] => {
    const messageId = `m${index}`;
    if ('result' in one) {
      const start = { type: 'tool-start', messageId, name: 'platformMeta', input: '{}' } as const;
      return [start, { type: 'tool-end', messageId, result: one.result }];
    }
    const deltas = one.map((text) => ({ type: 'text-delta', messageId, text }) as const);
    return [...deltas, { type: 'text-end', messageId }];
  });
  const ending: AgentEvent =
    how === 'final'
      ? { type: 'final', messageId: 'final', text: 'So.' }
      : how === 'aborted'
        ? { type: 'aborted' }
        : { type: 'failed', code: 'INTERNAL', message: 'no', requestId: 'r' };
  return [...events, ending, { type: 'usage', usage: noUsage }];
}

const question: Message = {
  id: 'q',
  role: 'user',
  content: 'why?',
  graphPath: null,
  toolCall: null,
  isInProcess: false,
  sort: 3,
};
const before: Frame[] = [
  messageFrame({ ...question, id: 'p', sort: 1 }),
  messageFrame({ ...question, id: 'a', role: 'assistant', graphPath: ['final'], sort: 2 }),
];

function toFrames(events: readonly AgentEvent[]): Frame[] {
  let state = startRun('platform', question.sort + 1);
  const frames = [messageFrame(question)];
  for (const event of events) {
    const step = applyEvent(state, event);
    state = step.state;
    frames.push(step.frame);
  }
  return frames;
}

function joinedAt(frames: readonly Frame[], index: number): ThreadState {
  const { head, from } = joinRun('t', before, frames, index);
  return foldFrames([...head, ...frames.slice(from)]);
}

describe('the lines of a run', () => {
  test('fold to the same thread from wherever a reader joins', () => {
    fc.assert(
      fc.property(fc.array(part, { maxLength: 6 }), end, (parts, how) => {
        const frames = toFrames(toEvents(parts, how));
        const all = joinedAt(frames, 0);
        expect(all.messages).toHaveLength(2 + 1 + parts.length + (how === 'final' ? 1 : 0));
        for (let index = 1; index <= frames.length; index++) expect(joinedAt(frames, index)).toEqual(all);
      }),
    );
  });

  test('rise in sort, without gaps, and control lines stand above all', () => {
    fc.assert(
      fc.property(fc.array(part, { maxLength: 6 }), end, (parts, how) => {
        const frames = toFrames(toEvents(parts, how));
        const sorts = frames.map(({ sort }) => sort);
        expect(sorts).toEqual(sorts.toSorted((one, other) => one - other));
        expect(new Set(sorts).size).toBe(Math.max(...sorts) - question.sort + 1);
        const controls = frames.filter(({ id }) => id.startsWith('__'));
        expect(controls.map(({ sort }) => sort)).toEqual([...new Set(sorts)].slice(-controls.length));
      }),
    );
  });

  test('to close what is not open is a defect', () => {
    expect(() => applyEvent(startRun('x', 1), { type: 'text-end', messageId: 'm' })).toThrow('no open message');
  });
});

describe('a log', () => {
  const frame = (sort: number): Frame => ({ id: `m${sort}`, role: 'user', content: '', sort });
  const never = new AbortController().signal;

  test('gives every reader all lines from its cursor on, whenever it comes', async () => {
    const log = createThreadLog();
    const readers: Promise<Frame[]>[] = [];
    for (let sort = 0; sort < 20; sort++) {
      readers.push(Array.fromAsync(log.follow(sort, never)));
      log.append(frame(sort));
      if (sort % 3 === 0) await Promise.resolve();
    }
    log.end();
    readers.push(Array.fromAsync(log.follow(20, never)));
    for (const [from, frames] of (await Promise.all(readers)).entries()) {
      expect(frames.map(({ sort }) => sort)).toEqual(Array.from({ length: 20 - from }, (_, index) => index + from));
    }
    expect(() => log.append(frame(21))).toThrow('ended');
  });

  test('lets a reader go who goes away, and no other', async () => {
    const log = createThreadLog();
    const gone = new AbortController();
    const goes = Array.fromAsync(log.follow(0, gone.signal));
    const stays = Array.fromAsync(log.follow(0, never));
    gone.abort();
    expect(await goes).toEqual([]);
    log.append(frame(1));
    log.end();
    expect(await stays).toEqual([frame(1)]);
    expect(await Array.fromAsync(log.follow(0, gone.signal))).toEqual([]);
  });
});

test('a thread of which nothing is known is empty', () => {
  expect(foldFrames([])).toEqual(emptyThread);
});
