/** The readers of one run: one who asks, and others who join, all on bad lines, who come back until they have seen the end. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Frame, Usage } from '@inlay/contract/chat.ts';
import { abortChat, type ChatWords, readChat, type Speaker } from './chat-call.ts';
import { createFold, type Problem, type SaidOf, type SeenMessage } from './fold.ts';
import { questionText, randomOf } from './script.ts';

/** Where nodes are to be found, as a load balancer knows it. */
export interface Addresses {
  /** The addresses of the nodes that listen. */
  list(): readonly string[];
}

/** A question that is to be asked in a thread. */
export interface Asking {
  readonly seed: number;
  readonly question: number;
  readonly speaker: Speaker;
  /** Null: it begins a thread. */
  readonly chatId: string | null;
  readonly addresses: Addresses;
  readonly saidOf: SaidOf;
  /** The instant, in milliseconds, when whoever still waits is stuck: it moves as long as nodes and stores are killed. */
  readonly stuckAt: () => number;
}

/** What a reader saw at the end. */
export interface ReaderRecord {
  readonly name: string;
  readonly messages: readonly SeenMessage[];
  /** What the run used; null where the reader came after its end. */
  readonly usage: Usage | null;
  readonly problems: readonly Problem[];
  readonly cuts: number;
  /** Connections that broke off by themselves, and calls that nobody could answer. */
  readonly breaks: number;
  readonly isStuck: boolean;
  /** All that came, for those who look into it: when, in milliseconds since 1970, on which connection, and what. */
  readonly lines: readonly string[];
}

/** A question that was asked, to the end of its readers. */
export interface AskedRecord {
  readonly question: number;
  readonly messageId: string;
  readonly chatId: string | null;
  readonly wasAborted: boolean;
  readonly readers: readonly ReaderRecord[];
}

const comeBackMs = 100;

/** The id of the message of a question: unique in a run of the suite. */
export const messageIdOf = (question: number): string => `${1_700_000_000_000 + question}-message`;

/** Asks, reads, joins, now and then aborts; resolves when every reader has seen the end or is stuck. */
export async function askQuestion(asking: Asking): Promise<AskedRecord> {
  const { seed, question, speaker, addresses } = asking;
  const random = randomOf(seed, 'readers', question);
  const known = Promise.withResolvers<string | null>();
  const messageId = messageIdOf(question);
  const input = { input: questionText(question), messageId };
  const starter = readToEnd(asking, 'starter', input, asking.chatId, known.resolve);
  const joiners = Array.from({ length: 1 + Math.floor(random() * 3) }, (_, index) => {
    const waitMs = random() * 1500;
    return (async () => {
      const chatId = await known.promise;
      await pause(waitMs);
      return chatId === null ? null : await readToEnd(asking, `joiner ${index}`, null, chatId, () => undefined);
    })();
  });
  const wasAborted = random() < 0.06;
  const abortMs = random() * 1500;
  const aborting = (async () => {
    const chatId = await known.promise;
    if (!wasAborted || chatId === null) return;
    await pause(abortMs);
    const urls = addresses.list();
    const url = urls[Math.floor(random() * urls.length)];
    if (url !== undefined) await abortChat(url, speaker, chatId);
  })();
  const first = await starter;
  known.resolve(null);
  const others = (await Promise.all(joiners)).filter((record) => record !== null);
  await aborting;
  return { question, messageId, chatId: await known.promise, wasAborted, readers: [first, ...others] };
}

/** Reads until the run is seen to have ended. @param input null: it is joined. */
async function readToEnd(
  { seed, question, speaker, addresses, saidOf, stuckAt }: Asking,
  name: string,
  input: Pick<ChatWords, 'input' | 'messageId'> | null,
  knownId: string | null,
  onChatId: (chatId: string) => void,
): Promise<ReaderRecord> {
  const random = randomOf(seed, 'reader', question, name);
  const fold = createFold(saidOf, random() < 0.5);
  const problems: Problem[] = [];
  const say = (text: string): void => void problems.push({ kind: 'wrong', text });
  const lines: string[] = [];
  let chatId = knownId;
  let usage: Usage | null = null;
  let isTaken = false;
  let [connection, cuts, breaks] = [0, 0, 0];
  const cutsMax = Math.floor(random() * 5);
  const isSlow = random() < 0.2;
  const toRecord = (isStuck: boolean): ReaderRecord => ({
    name,
    messages: fold.messages,
    usage,
    problems: [...problems, ...fold.problems],
    cuts,
    breaks,
    isStuck,
    lines,
  });

  /** Which call to make: the one that repeats the question may name the thread or not, or just read it. */
  function nextWords(): ChatWords {
    if (input === null) return { chatId: chatId ?? '' };
    // Until it is seen that the question was taken, it has to be asked again.
    if (isTaken && chatId !== null && random() < 0.5) return { chatId };
    return { ...input, ...(chatId === null || (knownId === null && random() < 0.5) ? {} : { chatId }) };
  }

  while (true) {
    if (Date.now() > stuckAt()) return toRecord(true);
    const urls = addresses.list();
    const url = urls[Math.floor(random() * urls.length)];
    if (url === undefined) {
      await pause(comeBackMs);
      continue;
    }
    const words = nextWords();
    const cutAt = cuts < cutsMax && random() < 0.7 ? Math.floor(random() ** 2 * 12_000) : null;
    let [isOver, isLive] = [false, false];
    const onFrame = (frame: Frame): void => {
      lines.push(`${Date.now()} ${connection} ${JSON.stringify(frame)}`);
      fold.apply(frame);
      isTaken ||= frame.id === input?.messageId;
      if (frame.id === '__cutoff__' && frame.state !== undefined) {
        isLive = frame.state.isStreaming;
        if (chatId !== null && chatId !== frame.state.chatId) say('another thread than before');
        chatId = frame.state.chatId;
        onChatId(chatId);
        isOver = !isLive;
      }
      if (frame.id === '__usage__') {
        isOver = true;
        usage = frame.usage ?? null;
      }
    };
    fold.connect();
    lines.push(`${Date.now()} ${connection} > ${url} ${JSON.stringify(words)} ${cutAt}`);
    const rests = isSlow ? { count: 10, ms: 20 + random() * 250 } : { count: 0, ms: 0 };
    try {
      const ending = await readChat({ url, speaker, words, cutAt, rests, onFrame });
      lines.push(`${Date.now()} ${connection} < ${JSON.stringify(ending)}`);
      connection += 1;
      if (ending.kind === 'cut') cuts += 1;
      else if (ending.kind === 'ended' && isOver) return toRecord(false);
      else breaks += 1;
      // 429 and 503 say that coming back helps; 0 is nobody.
      if (ending.kind === 'refused' && ![0, 429, 503].includes(ending.status)) {
        say(`refused with ${ending.status}: ${ending.text}`);
        if (ending.status < 500) return toRecord(false);
      }
    } catch (error) {
      say(`connection ${connection}: ${String(error)}`);
      connection += 1;
      breaks += 1;
    }
    await pause(random() * comeBackMs);
  }
}
