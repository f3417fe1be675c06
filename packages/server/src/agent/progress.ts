/** What a run has come to, and the events by which it writes its messages: each opened once and closed once. */
import { randomUUID } from 'node:crypto';
import type { Usage } from '@inlay/contract/chat.ts';
import { InlayError } from '../errors.ts';
import type { AgentEvent } from './events.ts';
import { type ToolOutcome, toToolError } from './tools/tool.ts';

/** What one run has come to so far; the only thing in a run that changes. */
export interface Progress {
  readonly usage: { llmCalls: number; inputTokens: number; outputTokens: number; queries: number; rows: number };
  /** The message that is being written, if any. */
  open: { readonly kind: 'text' | 'tool'; readonly messageId: string } | null;
  lastText: string;
  textCharacters: number;
  toolCalls: number;
  readonly resultIds: Set<string>;
}

/** The progress of a run that has done nothing; `resultIds` are the `uuid`s of the results in its conversation. */
export function startProgress(resultIds: readonly string[]): Progress {
  return {
    usage: { llmCalls: 0, inputTokens: 0, outputTokens: 0, queries: 0, rows: 0 },
    open: null,
    lastText: '',
    textCharacters: 0,
    toolCalls: 0,
    resultIds: new Set(resultIds),
  };
}

/** Counts what a tool call came to, and gives its result. */
export function countOutcome(progress: Progress, outcome: ToolOutcome): ToolOutcome['result'] {
  progress.usage.queries += outcome.queries;
  progress.usage.rows += outcome.rows;
  if (outcome.resultId !== undefined) progress.resultIds.add(outcome.resultId);
  return outcome.result;
}

/**
 * The next piece of the agent's text; it opens a message where none is open. Nothing for an empty piece.
 * @throws InlayError ANSWER_TOO_LONG when the run has written more than `charactersMax` UTF-16 code units
 */
export function* writeText(progress: Progress, text: string, charactersMax: number): Generator<AgentEvent> {
  if (text === '') return;
  progress.textCharacters += text.length;
  if (progress.textCharacters > charactersMax) {
    throw new InlayError('ANSWER_TOO_LONG', 'The answer is longer than a run may write.');
  }
  if (progress.open === null) {
    progress.open = { kind: 'text', messageId: randomUUID() };
    progress.lastText = '';
  }
  progress.lastText += text;
  yield { type: 'text-delta', messageId: progress.open.messageId, text };
}

/** Closes the text that is open, if any. */
export function* closeText(progress: Progress): Generator<AgentEvent> {
  if (progress.open === null) return;
  const { messageId } = progress.open;
  progress.open = null;
  yield { type: 'text-end', messageId };
}

/** Closes what is open when a run ends early: text with what it has, a tool call with why it has no result. */
export function* closeOpen(progress: Progress, cause: unknown, requestId: string): Generator<AgentEvent> {
  if (progress.open?.kind === 'tool') {
    const { messageId } = progress.open;
    yield { type: 'tool-end', messageId, result: JSON.stringify(toToolError(cause, requestId)) };
  } else {
    yield* closeText(progress);
  }
}

/** A message of the agent in the loop's own words. */
export function* say(progress: Progress, text: string): Generator<AgentEvent> {
  yield* writeText(progress, text, Number.POSITIVE_INFINITY);
  yield* closeText(progress);
}

/** What the run used, as its last frame says. */
export function toUsage(languageModel: string, { usage }: Progress): Usage {
  const { llmCalls, inputTokens, outputTokens, queries, rows } = usage;
  return {
    models: [languageModel],
    llmCalls,
    inputTokens,
    outputTokens,
    totalTokens: inputTokens + outputTokens,
    queries,
    rows,
  };
}
