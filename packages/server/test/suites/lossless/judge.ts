/** What must hold of a thread when all is over: the same for every reader and in the store, and just what was said. */
import type { Frame } from '@inlay/contract/chat.ts';
import { differ, kindOf, type Problem, type ProblemKind, type SeenMessage } from './fold.ts';
import type { AskedAttempt } from './model.ts';
import type { AskedRecord, ReaderRecord } from './readers.ts';
import { readMark, turnsOf } from './script.ts';

/** A run as the store holds it. */
export interface StoredRun {
  readonly messageId: string;
  readonly state: string;
  readonly error: { readonly code: string } | null;
  readonly attempts: number;
  readonly usage: unknown;
}

/** A thread at the end. */
export interface ThreadEnd {
  readonly asked: readonly AskedRecord[];
  /** As the nodes give it to whoever reads it now. */
  readonly served: readonly (readonly SeenMessage[])[];
  /** As the table holds it. */
  readonly stored: readonly SeenMessage[];
  readonly runs: readonly StoredRun[];
}

/** What the language model was asked and has said. */
export interface Said {
  readonly seed: number;
  readonly asked: readonly AskedAttempt[];
}

/** A message of a chat as it is compared. */
export function seenOf(frame: Frame): SeenMessage {
  const { id, role, content, thinking, graphPath, toolCall, isInProcess = false, sort } = frame;
  return {
    id,
    role,
    content,
    ...(thinking === undefined ? {} : { thinking }),
    ...(graphPath === undefined ? {} : { graphPath }),
    ...(toolCall === undefined ? {} : { toolCall }),
    isInProcess,
    sort,
  };
}

/** Everything that is wrong with a thread. */
export function judgeThread({ asked, served, stored, runs }: ThreadEnd, said: Said): Problem[] {
  const problems: Problem[] = [];
  const say = (kind: ProblemKind, text: string): void => void problems.push({ kind, text });
  for (const [index, messages] of served.entries()) {
    for (const { kind, text } of compare(messages, stored))
      say(kind, `served by node ${index}, against the store: ${text}`);
  }
  for (const [index, { sort, isInProcess, id }] of stored.entries()) {
    if (sort !== index + 1) say('wrong', `${id} has the sort number ${sort}, not ${index + 1}`);
    if (isInProcess === true) say('stuck', `${id} is open`);
  }
  for (const { question, messageId, readers } of asked) {
    const at = stored.findIndex(({ id }) => id === messageId);
    const own = runs.filter((run) => run.messageId === messageId);
    const [run] = own;
    if (own.length > 1) say('doubled', `question ${question} has ${own.length} runs`);
    if (run === undefined || at < 0) {
      say('lost', `question ${question} is not in the store`);
      continue;
    }
    if (run.state === 'running') say('stuck', `question ${question} is still being answered`);
    const next = stored.findIndex(({ role }, index) => index > at && role === 'user');
    const until = next < 0 ? stored.length : next;
    for (const reader of readers) judgeReader(reader, stored.slice(0, until), run, say);
    judgeAnswer(question, stored.slice(at + 1, until), run, said, say);
  }
  if (runs.length !== asked.length) say('doubled', `${asked.length} questions have ${runs.length} runs`);
  return problems;
}

function judgeReader(
  { name, messages, usage, problems, isStuck }: ReaderRecord,
  expected: readonly SeenMessage[],
  run: StoredRun,
  say: (kind: ProblemKind, text: string) => void,
): void {
  for (const { kind, text } of problems) say(kind, `${name}: ${text}`);
  if (isStuck) {
    say('stuck', `${name} has not seen the end`);
    return;
  }
  for (const { kind, text } of compare(messages, expected)) say(kind, `${name}, against the store: ${text}`);
  if (usage !== null && !isDeepEqual(usage, run.usage)) say('wrong', `${name} was told another usage`);
}

/** The answer to one question against what the language model said. */
function judgeAnswer(
  question: number,
  messages: readonly SeenMessage[],
  run: StoredRun,
  { seed, asked }: Said,
  say: (kind: ProblemKind, text: string) => void,
): void {
  const finals = messages.filter(({ graphPath }) => graphPath?.[0] === 'final');
  const turns = turnsOf(seed, question);
  if (run.state !== 'completed') {
    // A store that is away for a moment is no defect of ours.
    if (run.error?.code === 'INTERNAL') say('wrong', `question ${question} has failed by a defect`);
    if (finals.length > 0) say('wrong', `question ${question} is ${run.state} and has an answer`);
    return;
  }
  if (finals.length !== 1)
    say(finals.length > 1 ? 'doubled' : 'lost', `question ${question} has ${finals.length} finals`);
  if (messages.at(-1)?.graphPath?.[0] !== 'final') say('wrong', `question ${question} does not end with its final`);
  let before: string[] = [];
  for (let turn = 0; turn < turns; turn++) {
    const where = `question ${question}, turn ${turn}`;
    const own = messages.filter((message) => message.graphPath?.[0] !== 'final' && turnOf(message) === turn);
    const numbers = [...new Set(own.map((message) => readMark(markText(message))?.attempt))];
    const all = asked.filter(({ attempt }) => attempt.question === question && attempt.turn === turn);
    const [number] = numbers;
    const chosen = all.find(({ attempt }) => attempt.attempt === number);
    if (chosen === undefined || numbers.length !== 1) {
      say(numbers.length === 0 ? 'lost' : 'wrong', `${where} is of the attempts ${numbers.join(', ')}`);
      continue;
    }
    if (JSON.stringify(chosen.before) !== JSON.stringify(before)) {
      say('wrong', `${where}: the language model was told another beginning than the thread's`);
    }
    before = [...before, chosen.attempt.text];
    const { text, thinking, calls } = chosen.attempt;
    const texts = own.filter((message) => message.toolCall === undefined && message.thinking === undefined);
    expectOnce(
      `${where}: text`,
      texts.map(({ content }) => content),
      text === '' ? [] : [text],
      say,
    );
    const thoughts = own.flatMap((message) => (message.thinking === undefined ? [] : [message.thinking]));
    // Only the agent in development mode shows them.
    if (thoughts.length > 0) expectOnce(`${where}: thoughts`, thoughts, [thinking], say);
    const marks = own.flatMap(({ toolCall }) =>
      toolCall === undefined ? [] : [/c\d+/.exec(afterMark(toolCall.input))?.[0] ?? ''],
    );
    expectOnce(
      `${where}: calls`,
      marks,
      calls.map((_, index) => `c${index}`),
      say,
    );
    for (const { toolCall } of own) {
      if (toolCall === undefined) continue;
      if (toolCall.result === undefined) say('wrong', `${where}: a call without a result`);
      else if (toolCall.result.startsWith('{"error":{"code":"INTERNAL"'))
        say('wrong', `${where}: a tool failed by a defect`);
    }
    if (turn === turns - 1 && finals[0]?.content !== text) {
      say('wrong', `${where}: the final is another text: ${differ(finals[0]?.content ?? '', text)}`);
    }
  }
  for (const message of messages) {
    const mark = readMark(markText(message));
    // What an attempt had begun, and the next one did not say, is left empty.
    if (mark === null && markText(message) === '') continue;
    if (mark === null || mark.question !== question || mark.turn >= turns) {
      say('wrong', `question ${question}: nobody said ${JSON.stringify(markText(message).slice(0, 80))}`);
    }
  }
}

function expectOnce(
  where: string,
  found: readonly string[],
  expected: readonly string[],
  say: (kind: ProblemKind, text: string) => void,
): void {
  for (const text of expected) {
    const count = found.filter((other) => other === text).length;
    if (count === 0) say('lost', `${where}: ${differ(found[0] ?? '', text)}`);
    if (count > 1) say('doubled', `${where}: ${count} times`);
  }
  for (const text of found) if (!expected.includes(text)) say('wrong', `${where}: ${differ(text, expected[0] ?? '')}`);
}

const markText = ({ content, thinking, toolCall }: SeenMessage): string => toolCall?.input ?? thinking ?? content;
const turnOf = (message: SeenMessage): number | undefined => readMark(markText(message))?.turn;
const afterMark = (input: string): string => /m\d+\.\d+\.\d+\.(c\d+)/.exec(input)?.[1] ?? '';

/** How what a reader has differs from what it should have. */
function compare(found: readonly SeenMessage[], expected: readonly SeenMessage[]): Problem[] {
  const problems: Problem[] = [];
  const say = (kind: ProblemKind, text: string): void => void problems.push({ kind, text });
  const byId = new Map(found.map((message) => [message.id, message]));
  if (byId.size !== found.length) say('doubled', 'an id stands twice');
  for (const message of expected) {
    const { id, sort } = message;
    const own = byId.get(id);
    byId.delete(id);
    if (own === undefined) say('lost', `${id} (sort ${sort}) is not there`);
    else if (!isDeepEqual(own, message)) {
      const kind = own.content === message.content ? 'wrong' : kindOf(own.content, message.content);
      const where = differ(JSON.stringify(sorted(own)), JSON.stringify(sorted(message)));
      say(kind, `${id} (sort ${sort}) differs: ${where}`);
    }
  }
  for (const id of byId.keys()) say('doubled', `${id} is too much`);
  return problems;
}

function isDeepEqual(one: unknown, other: unknown): boolean {
  return JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));
}

/** With the members of objects in one order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([key, own]) => [key, sorted(own)]),
  );
}
