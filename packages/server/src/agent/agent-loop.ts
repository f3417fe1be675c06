/**
 * The agent: streams a language model, runs the tools that it calls, feeds the results back, until a turn calls none.
 * A run is a sequence of events that ends with its usage; nothing is thrown at the reader.
 */
import { randomUUID } from 'node:crypto';
import type { AnalystContext } from '@inlay/analyst/analyst.ts';
import { InlayError } from '../errors.ts';
import type { Traces } from '../telemetry/telemetry.ts';
import { callTools } from './call-tools.ts';
import { endRun } from './end-run.ts';
import type { AgentEvent } from './events.ts';
import type { LanguageModel } from './language-models/language-model.ts';
import { LimitReached } from './limit-reached.ts';
import { withoutClosingLines } from './network-request.ts';
import { type Progress, repeatedFailure, startProgress, toUsage } from './progress.ts';
import type { AgentInput } from './run-agent.ts';
import { settleUntil } from './settle-until.ts';
import { sayItself, settleLeft, streamTurn } from './stream-turn.ts';
import type { Tool } from './tools/tool.ts';

/** Caps on one run (settings.md). A run that meets one ends with an answer that says so; only silence fails it. */
export interface AgentLimits {
  readonly agentTurnsMax: number;
  readonly agentToolCallsMax: number;
  /** Tokens of the language model in one run, both ways. */
  readonly runTokensMax: number;
  /** The whole run, in milliseconds since it began, whoever carries it on. */
  readonly runMs: number;
  /** The longest silence of the language model within a turn, in milliseconds. */
  readonly languageModelSilenceMs: number;
  /** Text of the language model in one run, thoughts included, in UTF-16 code units. */
  readonly textCharactersMax: number;
  /** Rows of a result that a language model over the network is shown. */
  readonly modelRowsMax: number;
}

/** Whose question it is and what was said. */
export type GroundQuestion = Pick<AgentInput, 'principal' | 'branch' | 'messages' | 'signal'> & {
  readonly deploymentId: number;
};

/** What a language model is told before it speaks; all of it under the user's own rights. */
export interface Grounding {
  /** For a language model inside this process. */
  readonly context: AnalystContext;
  /** The system prompt for one over the network; never asked for by one inside. In private mode without any row value. */
  readonly system: string;
}

/** A tool call of the run that has ended. */
export interface FinishedCall {
  readonly name: string;
  /** As the language model wrote it: JSON, or what it took for JSON. */
  readonly input: string;
  /** As the thread keeps it: JSON. */
  readonly result: string;
  readonly hasFailed: boolean;
}

/** What a run needs. `log` gets what failed, with the request id. */
export interface AgentDependencies {
  readonly languageModel: LanguageModel;
  readonly tools: readonly Tool[];
  readonly ground: (question: GroundQuestion) => Promise<Grounding>;
  readonly limits: AgentLimits;
  /** No row value reaches a language model over the network. */
  readonly isPrivate: boolean;
  /** Development mode: thoughts become messages of the thread; else they are dropped. */
  readonly showsThinking: boolean;
  /** A last paragraph for an answer that was made with these calls of the run, in their order; null: none. */
  readonly closingLine?: (calls: readonly FinishedCall[]) => string | null;
  /** The clock that `AgentInput.startedAt` was read from. */
  readonly clock: () => Date;
  readonly log: AgentLog;
  /** Left out: nobody is told. */
  readonly traces?: Traces;
}

/** What the agent tells the operator: defects as errors, failures of others as warnings, ends that are expected as information. */
export interface AgentLog {
  error(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  info(fields: object, message: string): void;
}

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
  const progress = startProgress(input, isPrivate);
  const stop = new AbortController();
  const timeUp = (): void => {
    stop.abort(new LimitReached(`the answer has taken as long as one may take (${limits.runMs / 1000} seconds)`));
  };
  const leftMs = input.startedAt.getTime() + limits.runMs - clock().getTime();
  // At once where nothing is left, before anything begins.
  if (leftMs <= 0) timeUp();
  const deadline = setTimeout(timeUp, leftMs);
  const signal = AbortSignal.any([input.signal, stop.signal]);
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
  yield { type: 'usage', usage: toUsage(progress) };
}

/** Turns until one calls no tool. @throws what ends the run before that */
async function* converse(
  dependencies: AgentDependencies,
  input: AgentInput,
  progress: Progress,
): AsyncGenerator<AgentEvent> {
  const { signal } = input;
  let grounding: Grounding | null = null;
  yield* settleLeft(dependencies, progress);
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
    grounding ??= await settleUntil(dependencies.ground(toQuestion(input)), signal);
    yield* streamTurn(dependencies, { ...input, grounding }, progress);
  }
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
