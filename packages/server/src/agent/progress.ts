/** What a run has come to: its turns with the answers to their calls, what it has used, and what is half done. */
import type { FinishedCall } from './agent-dependencies.ts';
import type { AgentStep, StepCall, UsageSoFar } from './agent-step.ts';
import type { ConversationMessage } from './language-models/language-model.ts';
import { fillText } from './placeholders.ts';
import type { AgentInput, ResumeFrom } from './run-agent.ts';
import { readStoredResult, rowsIn } from './stored-result.ts';
import type { TurnWriter } from './turn-writer.ts';

/** What a tool call came to: its result as JSON, and why it failed, in words for the user; null: it did not. */
export interface ToolAnswer {
  readonly result: string;
  readonly failure: string | null;
}

/** A turn of the language model that is over. Its calls may still be to run. */
export interface Turn {
  readonly text: string;
  readonly toolCalls: readonly StepCall[];
  readonly turnData: Extract<AgentStep, { kind: 'turn' }>['turnData'];
  /** Written in private mode. An earlier attempt may have been in another one. */
  readonly isPrivate: boolean;
  /** By the message id of the call. */
  readonly answers: Map<string, ToolAnswer>;
}

/** What one run has come to so far; the only thing in a run that changes. */
export interface Progress {
  readonly turns: Turn[];
  /** The turn that is being written, if any. */
  writer: TurnWriter | null;
  /** The tool calls that are being run, by message id, in order. */
  readonly running: Set<string>;
  /** Messages that an earlier attempt had begun and that belong to no step: to be said again, or closed. */
  readonly unfinished: { readonly kind: 'text' | 'thinking' | 'tool'; readonly messageId: string }[];
  /** Calls that an earlier attempt had closed, but not counted. */
  readonly uncounted: { readonly messageId: string; readonly answer: ToolAnswer }[];
  /** Messages that an earlier attempt had said whole, but not closed. */
  readonly unclosed: { readonly kind: 'text' | 'thinking'; readonly messageId: string }[];
  readonly usage: { -readonly [Key in Exclude<keyof UsageSoFar, 'models'>]: UsageSoFar[Key] } & {
    readonly models: Set<string>;
  };
  /** Of the last message of text. */
  lastText: string;
  /** Text and thoughts, in UTF-16 code units; of earlier attempts the text only. */
  textCharacters: number;
  /** The results of its tools, as JSON in UTF-8. */
  resultBytes: number;
  /** The `uuid`s of the results that a call may refer to. */
  readonly resultIds: Set<string>;
}

/** The progress with which a run begins, or is carried on: its finished steps folded. */
export function startProgress({ messages, resultIds, resume }: AgentInput): Progress {
  const usage = resume?.steps.at(-1)?.usage;
  const { models = [], llmCalls = 0, inputTokens = 0, outputTokens = 0, queries = 0, rows = 0 } = usage ?? {};
  const progress: Progress = {
    turns: resume === null ? [] : foldSteps(resume),
    writer: null,
    running: new Set(),
    unfinished: [],
    uncounted: [],
    unclosed: [],
    usage: { models: new Set(models), llmCalls, inputTokens, outputTokens, queries, rows },
    lastText: '',
    textCharacters: 0,
    resultBytes: 0,
    resultIds: new Set(resultIds),
  };
  for (const turn of progress.turns) {
    progress.textCharacters += turn.text.length;
    for (const { result } of turn.answers.values()) {
      progress.resultBytes += Buffer.byteLength(result);
      const stored = readStoredResult(result);
      if (stored.kind === 'rows') progress.resultIds.add(stored.uuid);
    }
  }
  const last = progress.turns.findLastIndex(({ text }) => text.trim() !== '');
  const spoken = progress.turns[last];
  if (spoken !== undefined) {
    // As it was said: its placeholders could name the results of the turns before it, not those of its own calls.
    const conversation = toMessages(messages, { turns: progress.turns.slice(0, last) });
    const said = spoken.isPrivate ? fillText(spoken.text, rowsIn(conversation)) : spoken.text;
    progress.lastText = said.trimStart();
  }
  if (resume !== null) sortLeft(progress, resume);
  return progress;
}

function foldSteps({ steps, results }: ResumeFrom): Turn[] {
  const turns: Turn[] = [];
  const failures = new Map(steps.flatMap((step) => (step.kind === 'tool' ? [[step.messageId, step.failure]] : [])));
  for (const step of steps) {
    if (step.kind !== 'turn') continue;
    const { text, toolCalls, turnData, isPrivate } = step;
    const answers = new Map<string, ToolAnswer>();
    for (const { messageId } of toolCalls) {
      const result = results.get(messageId);
      // Its step may be missing where its result is not: then the result says whether it failed.
      if (result !== undefined)
        answers.set(messageId, { result, failure: failures.get(messageId) ?? failureOf(result) });
    }
    turns.push({ text, toolCalls, turnData, isPrivate, answers });
  }
  return turns;
}

/**
 * A turn is a step before its messages are closed. So what stands open directly after one belongs to it and is whole, and what
 * stands open after anything else was begun by the turn that follows.
 */
function sortLeft(progress: Progress, { steps, unfinished }: ResumeFrom): void {
  const last = steps.at(-1);
  const counted = new Set(steps.flatMap((step) => (step.kind === 'tool' ? [step.messageId] : [])));
  for (const [messageId, answer] of progress.turns.at(-1)?.answers ?? []) {
    if (!counted.has(messageId)) progress.uncounted.push({ messageId, answer });
  }
  const ofSteps = new Set(progress.turns.flatMap(({ toolCalls }) => toolCalls.map(({ messageId }) => messageId)));
  for (const { kind, messageId } of unfinished) {
    // The call of a turn is run again, under its id.
    if (ofSteps.has(messageId)) continue;
    const isSaid = last?.kind === 'turn' && (kind === 'thinking' || last.text.trim() !== '');
    if (isSaid && kind !== 'tool') progress.unclosed.push({ kind, messageId });
    else progress.unfinished.push({ kind, messageId });
  }
}

/** Counts what a call came to that an earlier attempt had not counted: from its result, as far as that tells. */
export function countResult(progress: Progress, { result }: ToolAnswer): void {
  const stored = readStoredResult(result);
  if (stored.kind !== 'rows') return;
  progress.usage.queries += 1;
  progress.usage.rows += stored.totalRows;
}

function failureOf(result: string): string | null {
  const stored = readStoredResult(result);
  return stored.kind === 'failure' ? stored.message : null;
}

/** The conversation of the thread, with the turns of this run behind the question. */
export function toMessages(
  before: readonly ConversationMessage[],
  { turns }: Pick<Progress, 'turns'>,
): ConversationMessage[] {
  return [
    ...before,
    ...turns.flatMap(({ text, toolCalls, turnData, answers }): ConversationMessage[] => [
      { role: 'assistant', content: text, modelText: text, toolCalls, turnData },
      ...toolCalls.flatMap(({ id, name, messageId }): ConversationMessage[] => {
        const answer = answers.get(messageId);
        return answer === undefined ? [] : [{ role: 'tool', toolCallId: id, name, result: answer.result }];
      }),
    ]),
  ];
}

/** The calls of the run that have ended, in their order. */
export function finishedCalls({ turns }: Progress): FinishedCall[] {
  return turns.flatMap(({ toolCalls, answers }) =>
    toolCalls.flatMap(({ name, input, messageId }) => {
      const answer = answers.get(messageId);
      return answer === undefined ? [] : [{ name, input, result: answer.result, hasFailed: answer.failure !== null }];
    }),
  );
}

/**
 * Why a call failed that had failed in an earlier turn with the same name and input; null: none. Equal calls within one turn
 * count once: the language model could not know better yet.
 */
export function repeatedFailure({ turns }: Progress): string | null {
  const before = new Set<string>();
  for (const { toolCalls, answers } of turns) {
    const failed = new Set<string>();
    for (const { name, input, messageId } of toolCalls) {
      const failure = answers.get(messageId)?.failure ?? null;
      if (failure === null) continue;
      const attempt = JSON.stringify([name, input]);
      if (before.has(attempt)) return failure;
      failed.add(attempt);
    }
    for (const attempt of failed) before.add(attempt);
  }
  return null;
}

/** What the run has used so far, as its steps keep it. */
export function usageSoFar({ usage }: Progress): UsageSoFar {
  return { ...usage, models: [...usage.models] };
}
