/**
 * The agent: streams a language model, runs the tools that it calls, feeds the results back, until a turn calls none.
 * A run is a sequence of events that ends with its usage; nothing is thrown at the reader.
 */
import { randomUUID } from 'node:crypto';
import { InlayError } from '../errors.ts';
import { settleUntil } from '../waiting.ts';
import type { AgentDependencies, AgentLimits, GroundQuestion } from './agent-dependencies.ts';
import { toUsage } from './agent-step.ts';
import { callTools } from './call-tools.ts';
import { endRun } from './end-run.ts';
import type { AgentEvent } from './events.ts';
import { followSignal } from './follow-signal.ts';
import { LimitReached } from './limit-reached.ts';
import { keepShown, withoutClosingLines } from './network-request.ts';
import { type Progress, repeatedFailure, startProgress, usageSoFar } from './progress.ts';
import type { AgentInput } from './run-agent.ts';
import { sayItself, settleLeft, streamTurn, type Told } from './stream-turn.ts';

const noAnswer = 'The run ended without an answer.';

/**
 * Runs the agent to its end, or carries a run on: messages and steps, then one of `final`, `aborted`, `failed`, then `usage`.
 * Every message that was opened is closed. A run that meets a cap, or says nothing, ends with an answer that says so. When the
 * run is to be carried on elsewhere (RUN_INTERRUPTED) the events just end.
 */
export async function* runAgent(given: AgentDependencies, input: AgentInput): AsyncGenerator<AgentEvent> {
  const { clock, closingLine, languageModel, limits } = given;
  // A language model inside this process may see what the user may see; over the network the stricter word counts.
  const isPrivate = languageModel.kind === 'network' && (given.isPrivate || languageModel.isPrivate);
  const dependencies = { ...given, isPrivate };
  const progress = startProgress(input);
  using stop = followSignal(input.signal);
  const { signal } = stop;
  const timeUp = (): void => {
    stop.abort(new LimitReached(`the answer has taken as long as one may take (${limits.runMs / 1000} seconds)`));
  };
  const leftMs = input.startedAt.getTime() + limits.runMs - clock().getTime();
  // At once where nothing is left, before anything begins.
  if (leftMs <= 0) timeUp();
  const deadline = setTimeout(timeUp, leftMs);
  try {
    const isEcho = languageModel.kind === 'network' && closingLine !== undefined;
    const messages = isEcho ? withoutClosingLines(input.messages, closingLine) : input.messages;
    yield* converse(dependencies, { ...input, messages, signal }, progress);
    yield { type: 'final', messageId: randomUUID(), text: progress.lastText };
  } catch (error) {
    const isEnding = yield* endRun(dependencies, input, progress, signal.aborted ? signal.reason : error);
    if (!isEnding) return;
  } finally {
    clearTimeout(deadline);
    // Whatever still runs for this run (a reader may stop early, too) is told to end.
    stop.abort(new InlayError('ABORTED', 'The run has ended.'));
  }
  yield { type: 'usage', usage: toUsage(usageSoFar(progress)) };
}

/** Turns until one calls no tool. @throws what ends the run before that */
async function* converse(
  dependencies: AgentDependencies,
  input: AgentInput,
  progress: Progress,
): AsyncGenerator<AgentEvent> {
  const { signal } = input;
  let told: Told | null = null;
  yield* settleLeft(progress);
  while (true) {
    const turn = progress.turns.at(-1);
    if (turn !== undefined) {
      if (turn.toolCalls.length === 0) {
        if (progress.lastText === '') yield* sayItself(dependencies, progress, noAnswer);
        return;
      }
      yield* callTools(dependencies, input, progress, turn);
      const failure = repeatedFailure(progress);
      if (failure !== null) return yield* sayItself(dependencies, progress, `I could not answer this: ${failure}`);
    }
    checkLimits(dependencies.limits, progress);
    signal.throwIfAborted();
    told ??= await readTold(dependencies, input);
    yield* streamTurn(dependencies, { ...input, ...told }, progress);
  }
}

async function readTold({ ground, limits, isPrivate }: AgentDependencies, input: AgentInput): Promise<Told> {
  const grounding = await settleUntil(ground(toQuestion(input)), input.signal);
  const { relations } = grounding.context;
  return { grounding, showResult: keepShown({ rowsMax: limits.modelRowsMax, isPrivate, relations }) };
}

/** Before a turn: whether the run may have another one. @throws LimitReached */
function checkLimits({ agentTurnsMax, runTokensMax }: AgentLimits, { turns, usage }: Progress): void {
  if (turns.length >= agentTurnsMax) {
    throw new LimitReached(`the answer has taken as many turns as one may take (${agentTurnsMax})`);
  }
  if (usage.inputTokens + usage.outputTokens >= runTokensMax) {
    throw new LimitReached(`the answer has used as many tokens as one may use (${runTokensMax})`);
  }
}

function toQuestion({ principal, agent, branch, messages, signal }: AgentInput): GroundQuestion {
  return { principal, deploymentId: agent.deploymentId, branch, messages, signal };
}
