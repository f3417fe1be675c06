/**
 * The agent: streams a language model, runs the tools that it calls, feeds the results back, until a turn calls none.
 * A run is a sequence of events that always ends with its usage; nothing is thrown at the reader.
 */
import { randomUUID } from 'node:crypto';
import type { AnalystContext } from '@inlay/analyst/analyst.ts';
import { InlayError } from '../errors.ts';
import { noTraces, type Traces } from '../telemetry/telemetry.ts';
import type { Principal } from '../users/principal.ts';
import type { AgentEvent } from './events.ts';
import type { ConversationMessage, LanguageModel } from './language-models/language-model.ts';
import {
  closeOpen,
  closeText,
  countOutcome,
  type Progress,
  say,
  startProgress,
  toUsage,
  writeText,
} from './progress.ts';
import { readUntil, settleUntil } from './settle-until.ts';
import { refusedCall, type Tool, type ToolContext, toToolError } from './tools/tool.ts';

/** Caps on one run (http-api.md). */
export interface AgentLimits {
  readonly agentTurnsMax: number;
  readonly agentToolCallsMax: number;
  /** The whole run, in milliseconds. */
  readonly runMs: number;
  /** The longest silence of the language model within a turn, in milliseconds. */
  readonly languageModelSilenceMs: number;
  /** Text of the language model in one run, in UTF-16 code units. */
  readonly textCharactersMax: number;
}

/** What a run needs. `log` gets what failed inside, with the request id. */
export interface AgentDependencies {
  readonly languageModel: LanguageModel;
  readonly tools: readonly Tool[];
  /** What the language model may know of the data, under the user's own rights. */
  readonly ground: (question: GroundQuestion) => Promise<AnalystContext>;
  readonly limits: AgentLimits;
  readonly log: { error(fields: object, message: string): void };
  /** Left out: nobody is told. */
  readonly traces?: Traces;
}

/** Whose question it is and what was said. */
export interface GroundQuestion {
  readonly principal: Principal;
  readonly deploymentId: number;
  readonly messages: readonly ConversationMessage[];
  readonly signal: AbortSignal;
}

/** One run: the conversation ends with the user's new message. */
export interface AgentInput {
  readonly messages: readonly ConversationMessage[];
  /** The `uuid`s of the results in the conversation. */
  readonly resultIds: readonly string[];
  readonly principal: Principal;
  readonly deploymentId: number;
  readonly requestId: string;
  /** Aborted with an InlayError: ABORTED when the user stops the run, anything else fails it with that code. */
  readonly signal: AbortSignal;
}

/** Runs the agent. The chat knows it by this type only. */
export type RunAgent = (input: AgentInput) => AsyncGenerator<AgentEvent>;

const noAnswer = 'The run ended without an answer.';

type ToolCall = { readonly id: string; readonly name: string; readonly input: string };
type ToolAnswer = { readonly result: string; readonly failure: string | null };

/**
 * Runs the agent to its end: text and tool events, then one of `final`, `aborted`, `failed`, then `usage`. Every message
 * that was opened is closed. A run that says nothing gets a final message that says so.
 */
export async function* runAgent(dependencies: AgentDependencies, input: AgentInput): AsyncGenerator<AgentEvent> {
  const progress = startProgress(input.resultIds);
  const stop = new AbortController();
  const deadline = setTimeout(
    () => stop.abort(new InlayError('RUN_TIMEOUT', 'The answer took longer than a run may take.')),
    dependencies.limits.runMs,
  );
  const signal = AbortSignal.any([input.signal, stop.signal]);
  try {
    yield* converse(dependencies, { ...input, signal }, progress);
    yield { type: 'final', messageId: randomUUID(), text: progress.lastText };
  } catch (error) {
    const cause = signal.aborted ? signal.reason : error;
    yield* closeOpen(progress, cause, input.requestId);
    yield toEnd(dependencies, cause, input.requestId);
  } finally {
    clearTimeout(deadline);
    // Whatever still runs for this run (a reader may stop early, too) is told to end.
    stop.abort(new InlayError('ABORTED', 'The run has ended.'));
  }
  yield { type: 'usage', usage: toUsage(dependencies.languageModel.name, progress) };
}

/** Turns until one calls no tool. @throws what ends the run without an answer. */
async function* converse(
  dependencies: AgentDependencies,
  input: AgentInput,
  progress: Progress,
): AsyncGenerator<AgentEvent> {
  const { signal, principal, deploymentId } = input;
  const { limits } = dependencies;
  signal.throwIfAborted();
  const context = await settleUntil(
    dependencies.ground({ principal, deploymentId, messages: input.messages, signal }),
    signal,
  );
  const messages: ConversationMessage[] = [...input.messages];
  const failures = new Set<string>();
  for (let turn = 0; turn < limits.agentTurnsMax; turn++) {
    signal.throwIfAborted();
    const { text, toolCalls } = yield* streamTurn(dependencies, { messages, context }, progress, signal);
    messages.push({ role: 'assistant', content: text, toolCalls });
    if (toolCalls.length === 0) {
      if (progress.lastText === '') yield* say(progress, noAnswer);
      return;
    }
    for (const call of toolCalls) {
      signal.throwIfAborted();
      if (++progress.toolCalls > limits.agentToolCallsMax) {
        throw new InlayError('TOO_MANY_TOOL_CALLS', 'The answer took more tool calls than a run may make.');
      }
      const answer = yield* callTool(
        dependencies,
        call,
        { principal, deploymentId, signal, resultIds: progress.resultIds },
        progress,
        input.requestId,
      );
      messages.push({ role: 'tool', toolCallId: call.id, name: call.name, result: answer.result });
      if (answer.failure === null) continue;
      const attempt = JSON.stringify([call.name, call.input]);
      if (failures.has(attempt)) return yield* say(progress, `I could not answer this: ${answer.failure}`);
      failures.add(attempt);
    }
  }
  throw new InlayError('TOO_MANY_TURNS', 'The answer took more turns than a run may take.');
}

/** One turn: the text as it comes, and the tool calls that it asks for. */
async function* streamTurn(
  { languageModel, tools, limits }: AgentDependencies,
  said: { readonly messages: readonly ConversationMessage[]; readonly context: AnalystContext },
  progress: Progress,
  signal: AbortSignal,
): AsyncGenerator<AgentEvent, { text: string; toolCalls: readonly ToolCall[] }> {
  let text = '';
  const toolCalls: ToolCall[] = [];
  progress.usage.llmCalls += 1;
  const request = { messages: [...said.messages], tools, context: said.context };
  for await (const event of readUntil(
    (own) => languageModel.stream(request, own),
    signal,
    limits.languageModelSilenceMs,
  )) {
    if (event.type === 'tokens') {
      progress.usage.inputTokens += event.input;
      progress.usage.outputTokens += event.output;
    } else if (event.type === 'tool-call') {
      yield* closeText(progress);
      if (toolCalls.length >= limits.agentToolCallsMax) {
        throw new InlayError('TOO_MANY_TOOL_CALLS', 'The answer took more tool calls than a run may make.');
      }
      toolCalls.push({ id: event.id, name: storable(event.name).slice(0, 128), input: event.input });
    } else {
      const piece = storable(event.text);
      text += piece;
      yield* writeText(progress, piece, limits.textCharactersMax);
    }
  }
  yield* closeText(progress);
  return { text, toolCalls };
}

/** Runs one tool call; a failure of the tool is a result, only an abort is thrown. */
async function* callTool(
  dependencies: AgentDependencies,
  call: ToolCall,
  context: ToolContext,
  progress: Progress,
  requestId: string,
): AsyncGenerator<AgentEvent, ToolAnswer> {
  const { tools, log, traces = noTraces } = dependencies;
  const tool = tools.find(({ name }) => name === call.name);
  const prepared =
    tool?.prepare(call.input, context) ??
    refusedCall(
      call.input,
      new InlayError('TOOL_NOT_FOUND', 'There is no such tool.', {
        hint: `Tools: ${tools.map(({ name }) => name).join(', ')}`,
      }),
    );
  const messageId = randomUUID();
  progress.open = { kind: 'tool', messageId };
  yield { type: 'tool-start', messageId, name: call.name, input: prepared.input };
  let answer: ToolAnswer;
  try {
    answer = {
      result: JSON.stringify(
        countOutcome(
          progress,
          await settleUntil(
            // The name only where it is ours: the language model may write anything.
            traces.span('tool call', { 'gen_ai.tool.name': tool?.name ?? 'unknown' }, () => prepared.run()),
            context.signal,
          ),
        ),
      ),
      failure: null,
    };
  } catch (error) {
    if (context.signal.aborted) throw error;
    const failure = toToolError(error, requestId);
    const isExpected = failure.error.code !== 'INTERNAL' && failure.error.code !== 'QUERY_FAILED';
    if (!isExpected) log.error({ err: error, requestId, tool: call.name }, 'a tool failed');
    answer = { result: JSON.stringify(failure), failure: failure.error.message };
  }
  progress.open = null;
  yield { type: 'tool-end', messageId, result: answer.result };
  return answer;
}

/** How a run ended that has no answer. */
function toEnd({ log, languageModel }: AgentDependencies, cause: unknown, requestId: string): AgentEvent {
  if (!(cause instanceof InlayError)) {
    log.error({ err: cause, requestId, languageModel: languageModel.name }, 'a run failed');
    return { type: 'failed', code: 'INTERNAL', message: 'Something failed inside.', requestId };
  }
  if (cause.code === 'ABORTED') return { type: 'aborted' };
  if (cause.code !== 'SESSION_ENDED')
    log.error({ err: cause, requestId, languageModel: languageModel.name }, 'a run ended early');
  return { type: 'failed', code: cause.code, message: cause.message, requestId };
}

/** Text that the store can hold: well-formed, without NUL. */
function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '');
}
