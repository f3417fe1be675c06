/** The tool calls of one turn: they begin in their order, run beside each other, and end as they end. */
import { InlayError } from '../errors.ts';
import { noTraces } from '../telemetry/telemetry.ts';
import { settleUntil } from '../waiting.ts';
import type { AgentDependencies, AgentLimits } from './agent-dependencies.ts';
import type { StepCall } from './agent-step.ts';
import type { AgentEvent } from './events.ts';
import { LimitReached } from './limit-reached.ts';
import { type Progress, type ToolAnswer, type Turn, usageSoFar } from './progress.ts';
import type { AgentInput } from './run-agent.ts';
import { type PreparedCall, refusedCall, type ToolContext, type ToolOutcome, toToolError } from './tools/tool.ts';
import { whileStoreAway } from './while-store-away.ts';

/** A tool call that has ended. */
interface Ended {
  readonly call: StepCall;
  readonly answer: ToolAnswer;
  readonly outcome: ToolOutcome | null;
}

/**
 * Runs the calls of a turn that have no answer yet; a failure of a tool is an answer, too.
 * @throws the signal's reason, or LimitReached when the results of the run are too large; then the calls that were running stand
 * open in `progress.running`
 */
export async function* callTools(
  dependencies: AgentDependencies,
  { principal, agent, branch, signal, requestId }: AgentInput,
  progress: Progress,
  turn: Turn,
): AsyncGenerator<AgentEvent> {
  const { limits } = dependencies;
  const context: ToolContext = {
    principal,
    deploymentId: agent.deploymentId,
    branch,
    signal,
    // As they were when the calls were written: one call of a turn cannot build upon another.
    resultIds: new Set(progress.resultIds),
  };
  const prepared: { readonly call: StepCall; readonly ready: PreparedCall }[] = [];
  for (const call of turn.toolCalls) {
    if (turn.answers.has(call.messageId)) continue;
    const ready = prepare(dependencies, call, context);
    prepared.push({ call, ready });
    progress.running.add(call.messageId);
    yield { type: 'tool-start', messageId: call.messageId, name: call.name, input: ready.input };
  }
  // Not before: the calls of a run that is carried on may stand open, and have to be closed whatever happens.
  signal.throwIfAborted();
  const works = prepared.map(({ call, ready }) => run(dependencies, call, ready, context, requestId));
  for await (const { call, answer, outcome } of asTheyEnd(works)) {
    const bytes = Buffer.byteLength(answer.result);
    if (progress.resultBytes + bytes > limits.runResultBytesMax) throw tooMuchData(limits);
    progress.resultBytes += bytes;
    turn.answers.set(call.messageId, answer);
    if (outcome !== null) count(progress, outcome);
    progress.running.delete(call.messageId);
    yield { type: 'tool-end', messageId: call.messageId, result: answer.result };
    const { failure } = answer;
    yield { type: 'step', step: { kind: 'tool', messageId: call.messageId, failure, usage: usageSoFar(progress) } };
  }
}

function tooMuchData({ runResultBytesMax }: AgentLimits): LimitReached {
  const mebibytes = Number((runResultBytesMax / 1_048_576).toFixed(1));
  return new LimitReached(`the answer has read as much data as one may read (${mebibytes} MiB)`, 'RESULT_TOO_LARGE');
}

/** The end of a call that does not run to its end, as its result: the cause, where it may be told. */
export function brokenOff(cause: unknown, requestId: string): string {
  const told = cause instanceof LimitReached ? new InlayError(cause.code, `Stopped: ${cause.message}.`) : cause;
  return JSON.stringify(toToolError(told, requestId));
}

function prepare({ tools }: AgentDependencies, { name, input }: StepCall, context: ToolContext): PreparedCall {
  const tool = tools.find((other) => other.name === name);
  if (tool !== undefined) return tool.prepare(input, context);
  const hint = `Tools: ${tools.map((other) => other.name).join(', ')}`;
  return refusedCall(input, new InlayError('TOOL_NOT_FOUND', 'There is no such tool.', { hint }));
}

/** One call to its end. @throws the signal's reason only */
async function run(
  { tools, log, traces = noTraces }: AgentDependencies,
  call: StepCall,
  prepared: PreparedCall,
  { signal }: ToolContext,
  requestId: string,
): Promise<Ended> {
  try {
    // The name only where it is ours: the language model may write anything.
    const name = tools.some((tool) => tool.name === call.name) ? call.name : 'unknown';
    const work = traces.span('tool call', { 'gen_ai.tool.name': name }, () =>
      whileStoreAway(() => prepared.run(), signal),
    );
    const outcome = await settleUntil(work, signal);
    return { call, answer: { result: JSON.stringify(outcome.result), failure: null }, outcome };
  } catch (error) {
    signal.throwIfAborted();
    const failure = toToolError(error, requestId);
    const { code, message } = failure.error;
    if (code === 'INTERNAL') log.error({ err: error, requestId, tool: call.name }, 'a tool failed');
    else if (code === 'QUERY_FAILED') log.warn({ err: error, requestId, tool: call.name }, 'a query failed');
    return { call, answer: { result: JSON.stringify(failure), failure: message }, outcome: null };
  }
}

function count(progress: Progress, { queries, rows, resultId }: ToolOutcome): void {
  progress.usage.queries += queries;
  progress.usage.rows += rows;
  if (resultId !== undefined) progress.resultIds.add(resultId);
}

/** What the works give, in the order in which they end. @throws what the first that fails throws */
async function* asTheyEnd<T>(works: readonly Promise<T>[]): AsyncGenerator<T> {
  const left = new Map(
    works.map((work, index) => {
      const ended = work.then((value) => ({ index, value }));
      // One that fails after another has must not become an unhandled rejection.
      ended.catch(() => undefined);
      return [index, ended];
    }),
  );
  while (left.size > 0) {
    const { index, value } = await Promise.race(left.values());
    left.delete(index);
    yield value;
  }
}
