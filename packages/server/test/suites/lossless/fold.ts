/**
 * What a client makes of the lines of a chat, by the rules of chat-stream.md and nothing else: written for the suite, so that it
 * is not the client library that is believed. It looks at every line as it comes, since the line that closes a message tells it
 * whole and would hide what was wrong before.
 */
import type { Frame } from '@inlay/contract/chat.ts';
import { type Attempt, readMark } from './script.ts';

/** A message as a client has it. */
export type SeenMessage = Pick<
  Frame,
  'id' | 'role' | 'content' | 'thinking' | 'graphPath' | 'toolCall' | 'isInProcess' | 'sort'
>;

/** What the language model has said under a mark; undefined when it never spoke. */
export type SaidOf = (mark: Pick<Attempt, 'question' | 'turn' | 'attempt'>) => Attempt | undefined;

/** What kind of problem it is. */
export type ProblemKind = 'lost' | 'doubled' | 'stuck' | 'wrong';
/** Something that cannot be. */
export interface Problem {
  readonly kind: ProblemKind;
  readonly text: string;
}

/** The thread that one reader sees. */
export interface Fold {
  /** Another connection begins. */
  connect(): void;
  apply(frame: Frame): void;
  /** In the order of `sort`. */
  readonly messages: readonly SeenMessage[];
  /** What no client may ever see. */
  readonly problems: readonly Problem[];
}

/** A reader who knows nothing yet. @param keeps what was seen before, when it comes back. */
export function createFold(saidOf: SaidOf, keeps: boolean): Fold {
  let messages = new Map<string, SeenMessage>();
  const problems: Problem[] = [];
  const say = (kind: ProblemKind, text: string): void => void problems.push({ kind, text });
  /** Messages of which it was told already that they are wrong. */
  const odd = new Set<string>();
  /** Messages that this connection has told of. */
  let told = new Set<string>();
  let hasUsage = false;

  function check({ id, content, thinking, graphPath, role, toolCall }: SeenMessage): void {
    if (role === 'user' || toolCall !== undefined) return;
    if (graphPath?.[0] === 'final') return;
    const text = thinking ?? content;
    const mark = readMark(text);
    const said = mark === null ? undefined : saidOf(mark);
    // Less than a whole mark is looked at when there is more.
    if (text === '' || (mark === null && text.length < 16)) return;
    const whole = said === undefined ? undefined : thinking === undefined ? said.text : said.thinking;
    // A pair of surrogates is held back until it is whole.
    if (whole?.startsWith(text) === true || odd.has(id)) return;
    odd.add(id);
    say(kindOf(text, whole ?? ''), `${id}: not what was said: ${differ(text, whole ?? '')}`);
  }

  return {
    connect() {
      if (!keeps) messages = new Map();
      told = new Set();
      hasUsage = false;
    },
    apply(frame) {
      const { id, role, content, thinking, graphPath, toolCall, isInProcess, isDelta, sort } = frame;
      if (hasUsage) say('wrong', `${id}: a line after the usage`);
      if (id === '__usage__') hasUsage = true;
      if (id.startsWith('__')) return;
      const before = messages.get(id);
      if (isDelta === true && !told.has(id) && content === '' && (thinking ?? '') === '') {
        say('wrong', `${id}: an increment that adds nothing, and is the first`);
      }
      if (before?.isInProcess === false && (isDelta === true || !isSame(before, frame))) {
        say('wrong', `${id}: was closed, and changes: ${differ(before.content, content)}`);
      }
      const more = (was: string | undefined, own: string): string => (isDelta === true ? (was ?? '') : '') + own;
      const message: SeenMessage = {
        id,
        role,
        content: more(before?.content, content),
        ...(thinking === undefined ? {} : { thinking: more(before?.thinking, thinking) }),
        ...(graphPath === undefined ? {} : { graphPath }),
        ...(toolCall === undefined ? {} : { toolCall }),
        isInProcess: isInProcess === true,
        sort,
      };
      if (isDelta !== true && before !== undefined) {
        const [was, is] = [before.thinking ?? before.content, message.thinking ?? message.content];
        const isAnew = JSON.stringify(readMark(was)) !== JSON.stringify(readMark(is));
        if (told.has(id) && isInProcess === false && toolCall === undefined && was !== is) {
          say(kindOf(was, is), `${id}: closed with something else than was told: ${differ(was, is)}`);
        } else if (is !== '' && !isAnew && !is.startsWith(was)) {
          say('lost', `${id}: what was told is gone: ${differ(was, is)}`);
        }
      }
      if (before !== undefined && before.sort !== sort) say('wrong', `${id}: its sort number changes`);
      told.add(id);
      messages.set(id, message);
      check(message);
    },
    get messages() {
      return [...messages.values()].sort((one, other) => one.sort - other.sort);
    },
    problems,
  };
}

function isSame(one: SeenMessage, other: SeenMessage): boolean {
  return (
    one.content === other.content &&
    one.thinking === other.thinking &&
    JSON.stringify(one.toolCall) === JSON.stringify(other.toolCall) &&
    (other.isInProcess ?? false) === one.isInProcess
  );
}

/** Whether a text lacks something of what it should be, or has something twice: by the words at which it departs. */
export function kindOf(found: string, expected: string): ProblemKind {
  let at = 0;
  while (at < found.length && found[at] === expected[at]) at += 1;
  const next = found.slice(at, at + 8);
  if (next === '') return expected.length > at ? 'lost' : 'wrong';
  if (expected.indexOf(next, at) >= 0) return 'lost';
  return expected.slice(0, at + 8).includes(next) ? 'doubled' : 'wrong';
}

/** Where two texts differ, in a few characters. */
export function differ(one: string, other: string): string {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  const near = (text: string): string => JSON.stringify(text.slice(Math.max(0, at - 15), at + 25));
  return `at ${at} of ${one.length} and ${other.length}: ${near(one)}, ${near(other)}`;
}
