/** What the chat asks of the agent. */
import type { Principal } from '../users/principal.ts';
import type { AgentStep } from './agent-step.ts';
import type { AgentEvent } from './events.ts';
import type { ConversationMessage } from './language-models/language-model.ts';

/** What a run that is carried on has left. */
export interface ResumeFrom {
  /** Its finished steps, in order. */
  readonly steps: readonly AgentStep[];
  /** The results of finished tool calls, as JSON, by message id. */
  readonly results: ReadonlyMap<string, string>;
  /**
   * The messages that are open, in order, but for the calls of finished turns. Those of the last finished turn were said whole (its
   * step stands before their ends) and are closed; all others are said again under the same ids.
   */
  readonly unfinished: readonly { readonly kind: 'text' | 'thinking' | 'tool'; readonly messageId: string }[];
}

/** One run: the conversation ends with the user's new message. */
export interface AgentInput {
  readonly messages: readonly ConversationMessage[];
  /** The `uuid`s of the results in the conversation. */
  readonly resultIds: readonly string[];
  readonly principal: Principal;
  readonly agent: { readonly id: number; readonly name: string; readonly deploymentId: number };
  /** The branch of the data model; null: the default one. */
  readonly branch: string | null;
  readonly requestId: string;
  /** When the run began: its time is counted from there, whoever carries it on. */
  readonly startedAt: Date;
  /** Null for a run that begins. */
  readonly resume: ResumeFrom | null;
  /**
   * Aborted with an InlayError: ABORTED when the user stops the run, RUN_INTERRUPTED when another node is to carry it on (the
   * agent ends without a word), anything else fails it with that code.
   */
  readonly signal: AbortSignal;
}

/** Runs the agent. The chat knows it by this type only. */
export type RunAgent = (input: AgentInput) => AsyncGenerator<AgentEvent>;
