/** The finished steps of a run, from which another node can carry it on, and what the run has used by then. */
import type { Usage } from '@inlay/contract/chat.ts';
import type { JsonValue } from '../store/json.ts';

/** A tool call that the language model asked for, and the message of the thread that shows it. */
export interface StepCall {
  /** The language model's own id of the call. */
  readonly id: string;
  readonly name: string;
  /** As the language model wrote it: JSON, or what it took for JSON. */
  readonly input: string;
  readonly messageId: string;
}

/** What a run has used so far. */
export interface UsageSoFar {
  readonly models: readonly string[];
  readonly llmCalls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly queries: number;
  readonly rows: number;
}

/**
 * A finished step of a run: a turn of the language model, or one tool call of it. They are kept in the log of the run, so that
 * another node can carry it on from the last one. The result of a call is kept as its message. A turn is a step as soon as it is
 * said, before its messages are closed: so what is closed is never said again. A call is a step after its message is closed.
 */
export type AgentStep =
  | {
      readonly kind: 'turn';
      /** The text as the language model wrote it: placeholders are not filled in. */
      readonly text: string;
      readonly toolCalls: readonly StepCall[];
      /** What the language model wants back with this turn; opaque. */
      readonly turnData: JsonValue | null;
      /** Written in private mode: it holds no value but those that the user wrote. */
      readonly isPrivate: boolean;
      readonly usage: UsageSoFar;
    }
  | {
      readonly kind: 'tool';
      readonly messageId: string;
      /** Why it failed, in words for the user; null: it did not. */
      readonly failure: string | null;
      readonly usage: UsageSoFar;
    };

/** What a run used, as its last frame says. */
export function toUsage({ models, llmCalls, inputTokens, outputTokens, queries, rows }: UsageSoFar): Usage {
  const totalTokens = inputTokens + outputTokens;
  return { models: [...models], llmCalls, inputTokens, outputTokens, totalTokens, queries, rows };
}
