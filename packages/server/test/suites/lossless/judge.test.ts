/** The judge of the losslessness suite has to see what it is there for: what is lost, doubled, stuck, or was never said. */
import { type Frame, frameSchema } from '@inlay/contract/chat.ts';
import { describe, expect, test } from 'vitest';
import { createFold, type Problem } from './fold.ts';
import { judgeThread, type StoredRun, seenOf, type ThreadEnd } from './judge.ts';
import type { AskedAttempt } from './model.ts';
import { messageIdOf, type ReaderRecord } from './readers.ts';
import { questionText, turnsOf, writeAttempt } from './script.ts';

const seed = 7;

/** One that is there. @throws Error when it is not */
function at<T>(list: readonly T[], index: number): T {
  const found = list.at(index);
  if (found === undefined) throw new Error(`nothing at ${index}`);
  return found;
}

/** A question with one call of the language model before the answer, or more. */
const question = Array.from({ length: 100 }, (_, number) => number).find((number) => turnsOf(seed, number) === 2) ?? 0;
const saidOf = (mark: Parameters<typeof writeAttempt>[1]) => writeAttempt(seed, mark);
/** The first turn took two attempts. */
const said = [
  [0, 0],
  [0, 1],
  [1, 0],
].map(([turn = 0, attempt = 0]) => writeAttempt(seed, { question, turn, attempt }));
const [first, last] = [at(said, 1), at(said, 2)];
const asked: readonly AskedAttempt[] = said.map((attempt) => ({
  attempt,
  before: attempt.turn === 0 ? [] : [first.text],
  isWhole: true,
}));

const usage = { models: ['m'], llmCalls: 2, inputTokens: 1, outputTokens: 1, totalTokens: 2, queries: 0, rows: 0 };
const run: StoredRun = { messageId: messageIdOf(question), state: 'completed', error: null, attempts: 2, usage };

function threadOf(): Frame[] {
  const graphPath = ['platform_data_analyst_agent'];
  const messages: Omit<Frame, 'sort'>[] = [
    { id: run.messageId, role: 'user', content: questionText(question) },
    ...(first.text === '' ? [] : [{ id: 'first', role: 'assistant' as const, content: first.text, graphPath }]),
    ...first.calls.map(({ id, name, input }) => ({
      id,
      role: 'assistant' as const,
      content: '',
      graphPath: [...graphPath, 'tools'],
      toolCall: { name, input, result: '{}' },
    })),
    { id: 'last', role: 'assistant', content: last.text, graphPath },
    { id: 'final', role: 'assistant', content: last.text, graphPath: ['final'] },
  ];
  return messages.map((message, index) => ({ ...message, isDelta: false, isInProcess: false, sort: index + 1 }));
}

function endOf(change: (end: { stored: Frame[]; seen: Frame[]; runs: StoredRun[] }) => void): ThreadEnd {
  const parts = { stored: threadOf(), seen: threadOf(), runs: [run] };
  change(parts);
  const reader: ReaderRecord = {
    name: 'reader',
    messages: parts.seen.map(seenOf),
    usage,
    problems: [],
    cuts: 0,
    breaks: 0,
    isStuck: false,
    lines: [],
  };
  const stored = parts.stored.map(seenOf);
  const record = { question, messageId: run.messageId, chatId: 'thread', wasAborted: false, readers: [reader] };
  return { asked: [record], served: [stored], stored, runs: parts.runs };
}

const kinds = (problems: readonly Problem[]): string[] => [...new Set(problems.map(({ kind }) => kind))];
const judge = (change: Parameters<typeof endOf>[0] = () => undefined) => judgeThread(endOf(change), { seed, asked });

describe('a thread at the end', () => {
  test('as it should be', () => expect(judge()).toEqual([]));

  test.each<[string, string, Parameters<typeof endOf>[0]]>([
    ['a message that a reader lacks', 'lost', ({ seen }) => seen.splice(1, 1)],
    ['a message that a reader has too much', 'doubled', ({ seen }) => seen.push({ ...at(threadOf(), 1), id: 'more' })],
    ['a text that a reader has not to its end', 'lost', ({ seen }) => Object.assign(at(seen, -2), { content: 'm' })],
    [
      'a message that is open',
      'stuck',
      ({ stored, seen }) => {
        for (const all of [stored, seen]) Object.assign(at(all, -2), { isInProcess: true });
      },
    ],
    ['a run that goes on', 'stuck', ({ runs }) => runs.splice(0, 1, { ...run, state: 'running' })],
    ['a run that is not there', 'lost', ({ runs }) => runs.splice(0, 1)],
    ['a question that was answered twice', 'doubled', ({ runs }) => runs.push(run)],
    [
      'no final',
      'lost',
      ({ stored, seen }) => {
        for (const all of [stored, seen]) all.pop();
      },
    ],
    [
      'a gap in the sort numbers',
      'wrong',
      ({ stored, seen }) => {
        for (const all of [stored, seen]) Object.assign(at(all, -1), { sort: 99 });
      },
    ],
    [
      'a text of another attempt',
      'wrong',
      ({ stored, seen }) => {
        for (const all of [stored, seen]) {
          for (const message of all) {
            if (message.toolCall !== undefined)
              Object.assign(message.toolCall, { input: message.toolCall.input.replace('.1.c', '.0.c') });
          }
        }
      },
    ],
    [
      'a word that was never said, in the store and with the reader',
      'wrong',
      ({ stored, seen }) => {
        for (const all of [stored, seen]) {
          const message = at(all, -2);
          message.content = message.content.replace('w1', 'w1w1');
        }
      },
    ],
    ['another usage', 'wrong', ({ runs }) => runs.splice(0, 1, { ...run, usage: {} })],
    ['a defect', 'wrong', ({ runs }) => runs.splice(0, 1, { ...run, state: 'failed', error: { code: 'INTERNAL' } })],
  ])('%s is %s', (_what, kind, change) => {
    expect(kinds(judge(change))).toContain(kind);
  });

  test('what the language model was told has to be what the thread says', () => {
    const other = asked.map((one) => ({ ...one, before: one.attempt.turn === 0 ? [] : ['something else'] }));
    expect(
      kinds(
        judgeThread(
          endOf(() => undefined),
          { seed, asked: other },
        ),
      ),
    ).toEqual(['wrong']);
  });
});

/** The lines of a text in pieces, and the line that closes it. */
function linesOf(text: string, size: number): Frame[] {
  const of = { id: 'a', role: 'assistant', sort: 2, graphPath: ['agent'] };
  const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, index) =>
    text.slice(index * size, (index + 1) * size),
  );
  return [
    ...pieces.map((content) => ({ ...of, content, isDelta: true, isInProcess: true })),
    { ...of, content: text, isDelta: false, isInProcess: false },
  ].map((frame) => frameSchema.parse(frame));
}

describe('a reader on the way', () => {
  const lines = linesOf(last.text, 20);
  const read = (frames: readonly Frame[], keeps = true, before: readonly Frame[] = []): readonly Problem[] => {
    const fold = createFold(saidOf, keeps);
    fold.connect();
    for (const frame of before) fold.apply(frame);
    if (before.length > 0) fold.connect();
    for (const frame of frames) fold.apply(frame);
    return fold.problems;
  };
  const whole = (content: string, isInProcess = true): Frame => ({
    ...at(lines, 0),
    content,
    isDelta: false,
    isInProcess,
  });

  test('whole', () => expect(read(lines)).toEqual([]));
  test('whole, after a cut, as the thread so far and the rest', () => {
    expect(read([whole(last.text.slice(0, 60)), ...lines.slice(3)], true, lines.slice(0, 2))).toEqual([]);
  });
  test('another attempt, after what was said is void', () => {
    expect(read([...linesOf(at(said, 0).text, 5).slice(0, 8), whole(''), ...lines])).toEqual([]);
  });
  test.each<[string, Problem['kind'], readonly Frame[], (readonly Frame[])?]>([
    ['an increment that does not come', 'lost', lines.toSpliced(2, 1)],
    ['an increment that comes twice', 'doubled', lines.toSpliced(2, 0, ...lines.slice(2, 3))],
    ['a text that closes with less', 'wrong', [...lines.slice(0, -1), whole(last.text.slice(0, 30), false)]],
    ['a text that closes with more than was told', 'lost', [...lines.slice(0, -2), ...lines.slice(-1)]],
    ['a text that is begun again without being void', 'wrong', [...lines.slice(0, 2), ...linesOf(first.text, 5)]],
    ['a text that is closed, and goes on', 'wrong', [...lines, ...lines.slice(0, 1)]],
    ['less than was told before a cut', 'lost', [whole(last.text.slice(0, 30))], lines.slice(0, 3)],
    ['a line after the usage', 'wrong', [...lines, { ...at(lines, 0), id: '__usage__', usage }, ...lines.slice(-1)]],
  ])('%s is seen', (_what, kind, frames, before = []) => {
    expect(kinds(read(frames, true, before))).toContain(kind);
  });
});
