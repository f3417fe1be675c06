/** The events of a run, as the agent tells them to the chat. */
import type { Usage } from '@inlay/contract/chat.ts';
import type { AgentStep } from './agent-step.ts';

/**
 * What a run does, as it happens. The chat turns events into frames; `messageId` names the message they belong to. Several
 * messages may be open at a time: tool calls of one turn run beside each other.
 */
export type AgentEvent =
  | { readonly type: 'text-delta'; readonly messageId: string; readonly text: string }
  /** `modelText`: the text as the language model wrote it, where that differs from what was said. */
  | { readonly type: 'text-end'; readonly messageId: string; readonly modelText?: string }
  /** The language model's thoughts: a message of their own, sent in development mode only. */
  | { readonly type: 'thinking-delta'; readonly messageId: string; readonly text: string }
  | { readonly type: 'thinking-end'; readonly messageId: string }
  | { readonly type: 'tool-start'; readonly messageId: string; readonly name: string; readonly input: string }
  | { readonly type: 'tool-end'; readonly messageId: string; readonly result: string }
  /** What was said under this id is void: it is said anew. Occurs only when a run is carried on. */
  | { readonly type: 'restart'; readonly messageId: string }
  /** Nothing that a reader sees: from here on the run can be carried on. */
  | { readonly type: 'step'; readonly step: AgentStep }
  | { readonly type: 'final'; readonly messageId: string; readonly text: string }
  | { readonly type: 'aborted' }
  | { readonly type: 'failed'; readonly code: string; readonly message: string; readonly requestId: string }
  | { readonly type: 'usage'; readonly usage: Usage };
