import type { Frame } from '@inlay/contract/chat.ts';
import { emptyThread, foldFrames, type ThreadState } from '@inlay/sdk/thread-state.ts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AgentEvent } from '../src/agent/events.ts';
import {
  applyEvent,
  cutoffFrame,
  isControl,
  type Message,
  messageFrame,
  noUsage,
  type RunState,
  startRun,
  toHistory,
} from '../src/chat/frames.ts';

/** What one message of an agent says, from its begin to its end; it may be said again from the begin. */
const said = fc.array(fc.string({ minLength: 1, unit: 'grapheme' }), { minLength: 1, maxLength: 4 });
const part = fc.oneof(
  fc.record({ kind: fc.constantFrom('text' as const, 'thinking' as const), pieces: said, again: fc.option(said) }),
  fc.record({ kind: fc.constant('tool' as const), result: fc.json() }),
);
type Part = typeof part extends fc.Arbitrary<infer Value> ? Value : never;
const end = fc.constantFrom<'final' | 'aborted' | 'failed'>('final', 'aborted', 'failed');

function eventsOf(one: Part, messageId: string): AgentEvent[] {
  if (one.kind === 'tool') {
    const start = { type: 'tool-start', messageId, name: 'platformMeta', input: '{}' } as const;
    return [start, { type: 'tool-end', messageId, result: one.result }];
  }
  const say = (pieces: readonly string[]): AgentEvent[] =>
    pieces.map((text) => ({ type: one.kind === 'text' ? 'text-delta' : 'thinking-delta', messageId, text }));
  const again: AgentEvent[] = one.again === null ? [] : [{ type: 'restart', messageId }, ...say(one.again)];
  return [...say(one.pieces), ...again, { type: one.kind === 'text' ? 'text-end' : 'thinking-end', messageId }];
}

/** A run: messages in groups, those of a group beside each other, in whatever order their events come. */
const run = fc
  .tuple(
    fc.array(fc.array(part, { minLength: 1, maxLength: 3 }), { maxLength: 4 }),
    end,
    fc.infiniteStream(fc.nat(100)),
  )
  .map(([groups, how, picks]) => {
    const events: AgentEvent[] = [];
    for (const [at, group] of groups.entries()) {
      const lanes = group.map((one, index) => eventsOf(one, `m${at}-${index}`));
      while (lanes.some((lane) => lane.length > 0)) {
        const open = lanes.filter((lane) => lane.length > 0);
        const event = open[(picks.next().value ?? 0) % open.length]?.shift();
        if (event !== undefined) events.push(event);
      }
    }
    const ending: AgentEvent =
      how === 'final'
        ? { type: 'final', messageId: 'final', text: 'So.' }
        : how === 'aborted'
          ? { type: 'aborted' }
          : { type: 'failed', code: 'INTERNAL', message: 'no', requestId: 'r' };
    return {
      events: [...events, ending, { type: 'usage', usage: noUsage } as const],
      count: groups.flat().length,
      how,
    };
  });

const question: Message = {
  id: 'q',
  role: 'user',
  content: 'why?',
  graphPath: null,
  toolCall: null,
  thinking: null,
  modelText: null,
  isInProcess: false,
  sort: 3,
};
const before: Frame[] = [
  messageFrame({ ...question, id: 'p', sort: 1 }),
  messageFrame({ ...question, id: 'a', role: 'assistant', graphPath: ['final'], sort: 2 }),
];

/** The lines of a run, and for each the messages that are kept when it is out. */
function play(events: readonly AgentEvent[]): { frames: Frame[]; kept: Message[][]; state: RunState } {
  let state = startRun('platform', question.sort + 1);
  const frames = [messageFrame(question)];
  const kept = [[question]];
  for (const event of events) {
    const step = applyEvent(state, event);
    state = step.state;
    if (step.frame === null) continue;
    frames.push(step.frame);
    const others = (kept.at(-1) ?? []).filter(({ sort }) => sort !== step.voided && sort !== step.closed?.sort);
    kept.push(step.closed === null ? others : [...others, step.closed]);
  }
  return { frames, kept, state };
}

/** What somebody shows who joins when so many lines are out. */
function joinedAt(frames: readonly Frame[], joinAt: number): ThreadState {
  const from = frames.slice(0, joinAt).findLastIndex((frame) => !isControl(frame)) + 1;
  const head = [...before, ...toHistory(frames.slice(0, from)), cutoffFrame('t', true)];
  return foldFrames([...head, ...frames.slice(from)]);
}

describe('the lines of a run', () => {
  test('fold to the same thread from wherever a reader joins', () => {
    fc.assert(
      fc.property(run, ({ events, count, how }) => {
        const { frames } = play(events);
        const all = joinedAt(frames, 0);
        expect(all.messages).toHaveLength(2 + 1 + count + (how === 'final' ? 1 : 0));
        for (let index = 1; index <= frames.length; index++) expect(joinedAt(frames, index)).toEqual(all);
      }),
    );
  });

  test('at every line, what is kept and what is open are all that was said', () => {
    fc.assert(
      fc.property(run, ({ events }) => {
        const { frames, kept, state } = play(events);
        expect(state.open.size).toBe(0);
        for (const [index, messages] of kept.entries()) {
          const lines = toHistory(frames.slice(0, index + 1));
          const closed = lines.filter(({ isInProcess }) => isInProcess === false);
          expect(messages.toSorted((one, other) => one.sort - other.sort).map(messageFrame)).toEqual(
            closed.toSorted((one, other) => one.sort - other.sort),
          );
        }
      }),
    );
  });

  test('have sort numbers without gaps that begin with the messages, and control lines stand above all', () => {
    fc.assert(
      fc.property(run, ({ events }) => {
        const { frames } = play(events);
        const firsts = [...new Map(frames.map(({ id, sort }) => [id, sort])).values()];
        expect(firsts).toEqual(firsts.map((_, index) => question.sort + index));
        for (const { id, sort } of frames) expect(frames.find((frame) => frame.id === id)?.sort).toBe(sort);
        const controls = frames.filter(isControl);
        expect(controls.map(({ sort }) => sort)).toEqual(firsts.slice(-controls.length));
      }),
    );
  });

  test('of thoughts: increments, then whole, in a member of their own', () => {
    const { frames, kept } = play([
      { type: 'thinking-delta', messageId: 'm', text: 'Sales ' },
      { type: 'thinking-delta', messageId: 'm', text: 'by month.' },
      { type: 'thinking-end', messageId: 'm' },
    ]);
    const line = { id: 'm', role: 'assistant', content: '' };
    const place = { graphPath: ['platform_data_analyst_agent'] };
    expect(frames.slice(1).map((frame) => JSON.stringify(frame))).toEqual(
      [
        { ...line, thinking: 'Sales ', ...place, isDelta: true, isInProcess: true, sort: 4 },
        { ...line, thinking: 'by month.', ...place, isDelta: true, isInProcess: true, sort: 4 },
        { ...line, thinking: 'Sales by month.', ...place, isDelta: false, isInProcess: false, sort: 4 },
      ].map((frame) => JSON.stringify(frame)),
    );
    expect(kept.at(-1)?.at(-1)).toMatchObject({ thinking: 'Sales by month.', content: '', isInProcess: false });
  });

  test('a message that is said again: void at once, under the same id and number', () => {
    const { frames, kept } = play([
      { type: 'text-delta', messageId: 'm', text: 'Half' },
      { type: 'restart', messageId: 'm' },
      { type: 'text-delta', messageId: 'm', text: 'Whole.' },
      { type: 'text-end', messageId: 'm', modelText: '{{a}}' },
    ]);
    expect(
      frames.slice(1).map(({ content, isDelta, isInProcess, sort }) => [content, isDelta, isInProcess, sort]),
    ).toEqual([
      ['Half', true, true, 4],
      ['', false, true, 4],
      ['Whole.', true, true, 4],
      ['Whole.', false, false, 4],
    ]);
    expect(kept.at(-1)?.at(-1)).toMatchObject({ content: 'Whole.', modelText: '{{a}}' });
    expect(JSON.stringify(frames)).not.toContain('{{a}}');
  });

  test('a step is no line, and to close what is not open is a defect', () => {
    const usage = { models: [], llmCalls: 1, inputTokens: 0, outputTokens: 0, queries: 0, rows: 0 };
    const step = { kind: 'tool', messageId: 'm', failure: null, usage } as const;
    expect(play([{ type: 'step', step }]).frames).toHaveLength(1);
    for (const type of ['text-end', 'restart'] as const) {
      expect(() => applyEvent(startRun('x', 1), { type, messageId: 'm' })).toThrow('no open message');
    }
  });
});

test('a thread of which nothing is known is empty', () => {
  expect(foldFrames([])).toEqual(emptyThread);
});
