/** The language model of the losslessness suite: it speaks OpenAI's wire format, slowly, and remembers what it has said to whom. */
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import {
  type LanguageModelServer,
  openLanguageModelServer,
  type WireRequest,
  type WireStep,
  type WireTurn,
  wireCall,
} from '../../language-model-server.ts';
import { type Attempt, markOf, questionIn, randomOf, writeAttempt } from './script.ts';

/** An answer, and how it went. */
export interface AskedAttempt {
  readonly attempt: Attempt;
  /** What the request said that this run's earlier turns had said, in order; empty where one had only called. */
  readonly before: readonly string[];
  /** The last word has left; what became of it then the server knows. */
  isWhole: boolean;
}

/** The language model, and all that it was asked. */
export interface LosslessModel extends AsyncDisposable {
  readonly server: LanguageModelServer;
  /** In the order in which they were asked for. */
  readonly asked: readonly AskedAttempt[];
  /** What was said under a mark; undefined when nobody asked for it. */
  find(mark: Pick<Attempt, 'question' | 'turn' | 'attempt'>): Attempt | undefined;
}

const bodySchema = z.object({
  messages: z.array(z.object({ role: z.string(), content: z.union([z.string(), z.null()]).optional() })),
});

/** UTF-16 code units of a piece at most: halves of surrogate pairs go out alone as well. */
const pieceMax = 24;
/** Waits within an answer. */
const waits = 12;

/** Starts the language model. */
export async function openLosslessModel(seed: number): Promise<LosslessModel> {
  const asked: AskedAttempt[] = [];
  const attempts = new Map<string, number>();
  const byMark = new Map<string, Attempt>();
  const answer = (request: WireRequest): WireTurn => {
    const { messages } = bodySchema.parse(request.body);
    const last = messages.findLastIndex(({ role }) => role === 'user');
    const question = questionIn(messages[last]?.content ?? '');
    if (question === null) return { status: 400, message: 'no question' };
    const turns = messages.slice(last + 1).filter(({ role }) => role === 'assistant');
    const turn = turns.length;
    const key = `${question}.${turn}`;
    const number = attempts.get(key) ?? 0;
    attempts.set(key, number + 1);
    const attempt = writeAttempt(seed, { question, turn, attempt: number });
    const entry: AskedAttempt = { attempt, before: turns.map(({ content }) => content ?? ''), isWhole: false };
    asked.push(entry);
    byMark.set(markOf(attempt), attempt);
    void request.ended.then((how) => {
      entry.isWhole = how === 'whole';
    });
    return { steps: stepsOf(seed, attempt) };
  };
  const server = await openLanguageModelServer(answer);
  return { server, asked, find: (mark) => byMark.get(markOf(mark)), [Symbol.asyncDispose]: () => server.close() };
}

function stepsOf(seed: number, { question, turn, attempt, thinking, text, calls, forMs }: Attempt): WireStep[] {
  const random = randomOf(seed, 'pieces', question, turn, attempt);
  const spoken: WireStep[] = [
    ...piecesOf(thinking, random).map((piece): WireStep => ({ type: 'thinking', pieces: [piece] })),
    ...piecesOf(text, random).map((piece): WireStep => ({ type: 'text', pieces: [piece] })),
  ];
  const every = Math.max(1, Math.ceil(spoken.length / waits));
  const steps: WireStep[] = [];
  for (const [index, step] of spoken.entries()) {
    // By the time since the answer began, so that all waits together are as long as it takes.
    if (index % every === 0) steps.push({ type: 'wait', for: pause((index / spoken.length) * forMs) });
    steps.push(step);
  }
  if (calls.length > 0) {
    steps.push({ type: 'calls', calls: calls.map(({ id, name, input }) => wireCall(name, input, id)) });
  }
  return steps;
}

function piecesOf(text: string, random: () => number): string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length; ) {
    const length = 1 + Math.floor(random() * pieceMax);
    pieces.push(text.slice(at, at + length));
    at += length;
  }
  return pieces;
}
