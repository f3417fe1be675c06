import type { AnalystContext } from '@inlay/analyst/analyst.ts';
import type { AnalystMessage } from '@inlay/analyst/conversation.ts';

/** A tool as a language model sees it. `inputSchema` is JSON Schema. */
export interface ToolDescription {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

/** The conversation as a language model sees it, oldest first. Tool inputs and results are JSON strings. */
export type ConversationMessage = AnalystMessage;

/** One turn asked of a language model. */
export interface LanguageModelRequest {
  readonly messages: readonly ConversationMessage[];
  readonly tools: readonly ToolDescription[];
  /** Today's date and what of the data model this user may see; a network model gets it as prompt text. */
  readonly context: AnalystContext;
}

/** What a language model streams within one turn. A turn with tool calls is followed by another turn. */
export type LanguageModelEvent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'tool-call'; readonly id: string; readonly name: string; readonly input: string }
  | { readonly type: 'tokens'; readonly input: number; readonly output: number };

/** A language model, built in or over the network. */
export interface LanguageModel {
  readonly name: string;
  /** Streams one turn. Ends by itself when the turn is over; throws when it fails or `signal` aborts. */
  stream(request: LanguageModelRequest, signal: AbortSignal): AsyncIterable<LanguageModelEvent>;
}
