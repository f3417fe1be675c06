import type { Usage } from '@inlay/contract/chat.ts';

/** What a run does, as it happens. The chat turns events into frames; `messageId` names the message they belong to. */
export type AgentEvent =
  | { readonly type: 'text-delta'; readonly messageId: string; readonly text: string }
  | { readonly type: 'text-end'; readonly messageId: string }
  | { readonly type: 'tool-start'; readonly messageId: string; readonly name: string; readonly input: string }
  | { readonly type: 'tool-end'; readonly messageId: string; readonly result: string }
  | { readonly type: 'final'; readonly messageId: string; readonly text: string }
  | { readonly type: 'aborted' }
  | { readonly type: 'failed'; readonly code: string; readonly message: string; readonly requestId: string }
  | { readonly type: 'usage'; readonly usage: Usage };
