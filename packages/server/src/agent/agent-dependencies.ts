/** What the loop is given for a run: the language model, its tools and limits, and what it is told of the data. */
import type { AnalystContext } from '@inlay/analyst/analyst.ts';
import type { Traces } from '../telemetry/telemetry.ts';
import type { LanguageModel } from './language-models/language-model.ts';
import type { AgentInput } from './run-agent.ts';
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
  /** The results of the tools in one run, as JSON in UTF-8, in bytes. */
  readonly runResultBytesMax: number;
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
