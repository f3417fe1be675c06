/** One attempt at a turn: a provider's stream as events of ours, with an end to waiting for its first word. */
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  SharedV4Warning,
} from '@ai-sdk/provider';
import { InlayError } from '../../errors.ts';
import { settleUntil } from '../../waiting.ts';
import { followSignal } from '../follow-signal.ts';
import { readTogether } from '../read-until.ts';
import type { LanguageModelEvent } from './language-model.ts';
import { createStorableText, storable } from './storable.ts';
import { collectTurn } from './turn-data.ts';

/** What is asked of a provider, and how long. */
export interface Attempt {
  readonly model: LanguageModelV4;
  readonly options: Omit<LanguageModelV4CallOptions, 'abortSignal'>;
  /** The model that writes, see {@link collectTurn}. */
  readonly by: string;
  /** From the beginning to the first word, thought or tool call, in milliseconds. */
  readonly firstTokenMs: number;
  /** How often a model that writes what nobody reads yet, such as the input of a tool, says that it is alive. */
  readonly aliveEveryMs: number;
  /** Told what the provider did not do as asked. */
  readonly onWarnings: (warnings: readonly SharedV4Warning[]) => void;
}

/** Tool calls that one turn may begin: more than a run may make in all, so that it is the run that says so. */
const callsMax = 256;

/** A sign of life: it costs nothing and says nothing, but ends a silence. */
export const alive: LanguageModelEvent = { type: 'tokens', input: 0, output: 0 };

/** Whether an event tells something of the answer, so that the turn cannot be begun anew behind it. */
export function isSaid({ type }: LanguageModelEvent): boolean {
  return type === 'text' || type === 'thinking' || type === 'tool-call';
}

/**
 * Streams a turn.
 * @throws the signal's reason; InlayError LANGUAGE_MODEL_TIMEOUT when there is no first token in time; whatever the provider
 * throws or sends as an error; InlayError LANGUAGE_MODEL_FAILED when the stream ends without its end.
 */
export async function* streamAttempt(attempt: Attempt, signal: AbortSignal): AsyncGenerator<LanguageModelEvent> {
  using own = followSignal(signal);
  // Without a reason: one that is no AbortError comes back out of places where nobody expects it (vercel/ai#15430).
  const request = new AbortController();
  const onAbort = (): void => request.abort();
  if (own.signal.aborted) onAbort();
  own.signal.addEventListener('abort', onAbort, { once: true });
  const firstToken = setTimeout(() => {
    own.abort(new InlayError('LANGUAGE_MODEL_TIMEOUT', 'The language model did not answer in time.'));
  }, attempt.firstTokenMs);
  try {
    const asked = Promise.resolve(attempt.model.doStream({ ...attempt.options, abortSignal: request.signal }));
    const { stream } = await settleUntil(asked, own.signal);
    for await (const event of toEvents(readParts(stream, own.signal), attempt)) {
      if (isSaid(event)) clearTimeout(firstToken);
      yield event;
    }
  } finally {
    clearTimeout(firstToken);
    own.signal.removeEventListener('abort', onAbort);
    request.abort();
  }
}

async function* readParts<T>(stream: ReadableStream<T>, signal: AbortSignal): AsyncGenerator<T> {
  const reader = stream.getReader();
  try {
    const next = readTogether<T>(() => reader.read(), signal);
    for (let parts = await next(); parts !== null; parts = await next()) for (const part of parts) yield part;
  } finally {
    // Whether the other side heeds it or not: nobody reads any more.
    reader.cancel().catch(() => undefined);
  }
}

/** The events that the parts of a stream stand for. @throws what an error part holds; InlayError LANGUAGE_MODEL_FAILED when the end is missing. */
async function* toEvents(
  parts: AsyncIterable<LanguageModelV4StreamPart>,
  { by, aliveEveryMs, onWarnings }: Attempt,
): AsyncGenerator<LanguageModelEvent> {
  const turn = collectTurn(by);
  const text = createStorableText();
  const thinking = createStorableText();
  let spokeAt = performance.now();
  let calls = 0;
  let finish: Extract<LanguageModelV4StreamPart, { type: 'finish' }> | null = null;
  for await (const part of parts) {
    // What the library does with each more takes as long as there are calls already.
    if (part.type === 'tool-input-start' && ++calls > callsMax)
      throw new InlayError('LANGUAGE_MODEL_FAILED', 'the answer has more tool calls than allowed');
    turn.add(part);
    const event = toEvent(part, text, thinking);
    if (event !== null) {
      spokeAt = performance.now();
      yield event;
      continue;
    }
    if (part.type === 'stream-start') onWarnings(part.warnings);
    else if (part.type === 'error') throw part.error;
    else if (part.type === 'finish') finish = part;
    else if (isWork(part) && performance.now() - spokeAt >= aliveEveryMs) {
      spokeAt = performance.now();
      yield alive;
    }
  }
  if (finish === null || isCut(finish.finishReason)) {
    throw new InlayError('LANGUAGE_MODEL_FAILED', 'the answer ended before its end');
  }
  const { inputTokens, outputTokens } = finish.usage;
  yield { type: 'tokens', input: toCount(inputTokens.total), output: toCount(outputTokens.total) };
  const data = turn.end();
  if (data !== null) yield { type: 'turn-data', data };
}

type StorableText = ReturnType<typeof createStorableText>;

function toEvent(
  part: LanguageModelV4StreamPart,
  text: StorableText,
  thinking: StorableText,
): LanguageModelEvent | null {
  if (part.type === 'text-delta' || part.type === 'text-end') {
    const piece = part.type === 'text-delta' ? text.write(part.delta) : text.end();
    return piece === '' ? null : { type: 'text', text: piece };
  }
  if (part.type === 'reasoning-delta' || part.type === 'reasoning-end') {
    const piece = part.type === 'reasoning-delta' ? thinking.write(part.delta) : thinking.end();
    return piece === '' ? null : { type: 'thinking', text: piece };
  }
  if (part.type !== 'tool-call' || part.providerExecuted === true) return null;
  const input = part.input.trim() === '' ? '{}' : storable(part.input);
  return { type: 'tool-call', id: storable(part.toolCallId), name: storable(part.toolName), input };
}

/** Parts that show that the model is at work. A provider's pings do not. */
function isWork({ type }: LanguageModelV4StreamPart): boolean {
  return type === 'tool-input-start' || type === 'tool-input-delta' || type.startsWith('reasoning-');
}

/** Whether a stream ended in the middle, which a missing reason says as well. */
function isCut({ unified, raw }: LanguageModelV4FinishReason): boolean {
  return unified === 'error' || unified === 'interrupted' || (unified === 'other' && raw === undefined);
}

function toCount(tokens: number | undefined): number {
  return tokens !== undefined && tokens > 0 ? Math.round(tokens) : 0;
}
