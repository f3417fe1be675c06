/** One turn of the language model as events, and the loop's own words. A turn is a step before its messages are closed. */
import { randomUUID } from 'node:crypto';
import type { JsonValue } from '../store/json.ts';
import type { AgentDependencies, Grounding } from './agent-dependencies.ts';
import type { StepCall } from './agent-step.ts';
import type { AgentEvent } from './events.ts';
import type { ConversationMessage, LanguageModelEvent } from './language-models/language-model.ts';
import { storable } from './language-models/storable.ts';
import { LimitReached } from './limit-reached.ts';
import { type ShowResult, toNetworkRequest } from './network-request.ts';
import { createFiller, type Filler } from './placeholders.ts';
import { countResult, finishedCalls, type Progress, type Turn, toMessages, usageSoFar } from './progress.ts';
import { readUntil } from './read-until.ts';
import type { AgentInput } from './run-agent.ts';
import { rowsIn } from './stored-result.ts';
import { beginTurn, type TurnWriter } from './turn-writer.ts';

/** What of a tool call is kept, in UTF-16 code units: more than a tool takes, so that what is too long stays too long. */
const inputCharactersMax = 140_000;
const nameCharactersMax = 128;
const callIdCharactersMax = 256;
/** What a language model may want back with a turn, as JSON, in UTF-16 code units. */
const turnDataCharactersMax = 1_000_000;

/** What the language model is told of the data, the same in all turns of a run. */
export interface Told {
  readonly grounding: Grounding;
  readonly showResult: ShowResult;
}

/**
 * Streams one turn; it stands last in `progress.turns` then, with its calls still to run.
 * @throws LimitReached; what the language model fails with; then the turn stands open in `progress.writer`
 */
export async function* streamTurn(
  dependencies: AgentDependencies,
  { messages, signal, grounding, showResult }: AgentInput & Told,
  progress: Progress,
): AsyncGenerator<AgentEvent> {
  const { languageModel, limits, closingLine } = dependencies;
  const conversation = toMessages(messages, progress);
  // Private mode may have been switched on since: what an earlier attempt wrote before that is not told, and is written anew.
  const told = dependencies.isPrivate
    ? toMessages(messages, { turns: progress.turns.filter(({ isPrivate }) => isPrivate) })
    : conversation;
  const writer = openTurn(dependencies, conversation, progress);
  const toolCalls: StepCall[] = [];
  let turnData: JsonValue | null = null;
  let answering = languageModel.name;
  const callsBefore = progress.turns.reduce((sum, turn) => sum + turn.toolCalls.length, 0);
  progress.usage.llmCalls += 1;
  try {
    const open = (own: AbortSignal) => ask(dependencies, told, { grounding, showResult }, own);
    for await (const events of readUntil(open, signal, limits.languageModelSilenceMs)) {
      for (const event of joinWords(events)) {
        if (event.type === 'text' || event.type === 'thinking') {
          // Not `yield*`: what it gives of an array goes through promises of its own.
          for (const said of event.type === 'text' ? writer.write(event.text) : writer.think(event.text)) yield said;
          writer.checkRoom();
        } else if (event.type === 'tool-call') {
          if (callsBefore + toolCalls.length >= limits.agentToolCallsMax) {
            throw new LimitReached(`the answer needs more tool calls than one may make (${limits.agentToolCallsMax})`);
          }
          toolCalls.push(toStepCall(event));
        } else if (event.type === 'turn-data') {
          turnData = isStorable(event.data) ? event.data : null;
        } else if (event.type === 'tokens') {
          progress.usage.inputTokens += event.input;
          progress.usage.outputTokens += event.output;
        } else {
          answering = event.name;
        }
      }
    }
  } finally {
    progress.usage.models.add(answering);
  }
  yield* writer.flush();
  if (toolCalls.length === 0 && writer.hasSaid) {
    const line = closingLine?.(finishedCalls(progress)) ?? null;
    if (line !== null) yield* writer.add(line);
  }
  yield* finishTurn(dependencies, progress, writer, { toolCalls, turnData });
}

/** Says something that the language model has not said: after what it is saying, or in a turn of its own. The run is over then. */
export function* sayItself(dependencies: AgentDependencies, progress: Progress, words: string): Generator<AgentEvent> {
  const writer = progress.writer ?? openTurn(dependencies, [], progress);
  yield* writer.flush();
  yield* writer.add(words);
  yield* finishTurn(dependencies, progress, writer, { toolCalls: [], turnData: null });
}

/** Ends what an earlier attempt had left a moment before its end: calls that were not counted, messages that were not closed. */
export function* settleLeft(progress: Progress): Generator<AgentEvent> {
  for (const { messageId, answer } of progress.uncounted.splice(0)) {
    countResult(progress, answer);
    yield { type: 'step', step: { kind: 'tool', messageId, failure: answer.failure, usage: usageSoFar(progress) } };
  }
  const modelText = progress.turns.at(-1)?.text;
  for (const { kind, messageId } of progress.unclosed.splice(0)) {
    if (kind === 'thinking') yield { type: 'thinking-end', messageId };
    else
      yield {
        type: 'text-end',
        messageId,
        ...(isWhollyPrivate(progress) && modelText !== undefined ? { modelText } : {}),
      };
  }
}

/** Whether all that the run has said and called so far was written in private mode: only then may a later run be told of it. */
function isWhollyPrivate({ turns }: Progress): boolean {
  return turns.every(({ isPrivate }) => isPrivate);
}

function openTurn(
  { isPrivate, showsThinking, limits }: AgentDependencies,
  conversation: readonly ConversationMessage[],
  progress: Progress,
): TurnWriter {
  const filler: Filler | null = isPrivate ? createFiller(rowsIn(conversation)) : null;
  const writer = beginTurn(progress, {
    filler,
    keepsModelText: isPrivate && isWhollyPrivate(progress),
    showsThinking,
    charactersMax: limits.textCharactersMax,
  });
  progress.writer = writer;
  return writer;
}

function ask(
  { languageModel, tools, isPrivate }: AgentDependencies,
  messages: readonly ConversationMessage[],
  { grounding: { context, system }, showResult }: Told,
  signal: AbortSignal,
): AsyncIterable<LanguageModelEvent> {
  if (languageModel.kind === 'inside') return languageModel.stream({ messages, tools, context }, signal);
  const request = toNetworkRequest(languageModel, { system, messages, tools, showResult, isPrivate });
  return languageModel.stream(request, signal);
}

/**
 * Ends a turn. Its step stands before the ends of its messages, so that a run which is carried on never says twice what was
 * closed: what is closed belongs to a step.
 */
function* finishTurn(
  { isPrivate }: AgentDependencies,
  progress: Progress,
  writer: TurnWriter,
  { toolCalls, turnData }: Pick<Turn, 'toolCalls' | 'turnData'>,
): Generator<AgentEvent> {
  const { text } = writer;
  // What an earlier attempt had begun to say, and this one has not.
  for (const { kind, messageId } of progress.unfinished.splice(0)) {
    if (kind === 'tool') continue;
    yield { type: 'restart', messageId };
    yield { type: kind === 'text' ? 'text-end' : 'thinking-end', messageId };
  }
  progress.turns.push({ text, toolCalls, turnData, isPrivate, answers: new Map() });
  yield { type: 'step', step: { kind: 'turn', text, toolCalls, turnData, isPrivate, usage: usageSoFar(progress) } };
  yield* writer.end();
  progress.writer = null;
}

/** The same with words that follow each other in one event: what is said at one moment goes its way once. */
function joinWords(events: readonly LanguageModelEvent[]): readonly LanguageModelEvent[] {
  const joined: LanguageModelEvent[] = [];
  for (const event of events) {
    const last = joined.at(-1);
    const isMore = (event.type === 'text' || event.type === 'thinking') && event.type === last?.type;
    if (isMore) joined[joined.length - 1] = { type: event.type, text: last.text + event.text };
    else joined.push(event);
  }
  return joined;
}

function toStepCall({ id, name, input }: Extract<LanguageModelEvent, { type: 'tool-call' }>): StepCall {
  return {
    id: storable(id).slice(0, callIdCharactersMax),
    name: storable(name).slice(0, nameCharactersMax),
    input: storable(input).slice(0, inputCharactersMax).toWellFormed(),
    messageId: randomUUID(),
  };
}

/** Whether the store can keep it: not too long, and no character that PostgreSQL's JSON has not. Without it a turn is whole, too. */
function isStorable(data: JsonValue): boolean {
  const text = JSON.stringify(data);
  return text.length <= turnDataCharactersMax && !/\\u0000|\\ud[89a-f]/i.test(text);
}
