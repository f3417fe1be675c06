/** What a language model is to the agent: something that streams one turn. */
import type { AnalystContext } from '@inlay/analyst/analyst.ts';
import type { JsonValue } from '../../store/json.ts';

/** A tool as a language model sees it. `inputSchema` is JSON Schema. */
export interface ToolDescription {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

/** A tool call as the language model wrote it. `input` is JSON, or what it took for JSON. */
export interface ModelToolCall {
  readonly id: string;
  readonly name: string;
  readonly input: string;
}

/** A message of the conversation. Tool results are JSON. */
export type ConversationMessage =
  | { readonly role: 'user'; readonly content: string }
  | {
      readonly role: 'assistant';
      /** What the user read. */
      readonly content: string;
      /** What the language model wrote, where that differs; null: it is not known to differ. */
      readonly modelText: string | null;
      readonly toolCalls: readonly ModelToolCall[];
      /** What the language model wants back with this turn of it; null in earlier runs. */
      readonly turnData: JsonValue | null;
    }
  | { readonly role: 'tool'; readonly toolCallId: string; readonly name: string; readonly result: string };

/** What a language model streams within one turn. A turn with tool calls is followed by another turn. */
export type LanguageModelEvent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'thinking'; readonly text: string }
  | ({ readonly type: 'tool-call' } & ModelToolCall)
  /** What is to be given back with this turn in the turns that follow; at most once, at the end. */
  | { readonly type: 'turn-data'; readonly data: JsonValue }
  /** What the turn cost; several add up. */
  | { readonly type: 'tokens'; readonly input: number; readonly output: number }
  /** The name of the model that answers, where it is not the one that was asked (a fallback). */
  | { readonly type: 'model'; readonly name: string };

/** A language model inside this process: it may see what the user may see. */
export interface InsideModel {
  readonly kind: 'inside';
  readonly name: string;
  /** Streams one turn. Ends by itself when the turn is over; throws when it fails or `signal` aborts. */
  stream(
    request: {
      readonly messages: readonly ConversationMessage[];
      readonly tools: readonly ToolDescription[];
      /** What of the data model and of the values in the question this user may see. */
      readonly context: AnalystContext;
    },
    signal: AbortSignal,
  ): AsyncIterable<LanguageModelEvent>;
}

/** A language model over the network: it gets text only, as it was made ready for it (cut, and in private mode without values). */
export interface NetworkModel {
  readonly kind: 'network';
  readonly name: string;
  /** True: the operator lets no row value reach it, whatever an agent's configuration says. */
  readonly isPrivate: boolean;
  /** Tokens of a request at most, the answer left out. */
  readonly inputTokensMax: number;
  /** As {@link InsideModel}. What it throws is an InlayError LANGUAGE_MODEL_TIMEOUT or LANGUAGE_MODEL_FAILED. */
  stream(
    request: {
      readonly system: string;
      readonly messages: readonly ConversationMessage[];
      readonly tools: readonly ToolDescription[];
    },
    signal: AbortSignal,
  ): AsyncIterable<LanguageModelEvent>;
}

/** A language model. */
export type LanguageModel = InsideModel | NetworkModel;
