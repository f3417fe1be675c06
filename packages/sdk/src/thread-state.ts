/** The thread that a chat stream describes: a pure fold over its frames. Browser-safe. */
import type { Frame, ToolCall, Usage } from '@inlay/contract/chat.ts';

/** A message of a thread as it stands now. */
export interface ThreadMessage {
  readonly id: string;
  readonly role: 'user' | 'assistant';
  readonly content: string;
  readonly thinking?: string;
  /** Which node of the agent wrote it; empty on the user's own messages. */
  readonly graphPath: readonly string[];
  readonly toolCall?: ToolCall;
  readonly isInProcess: boolean;
  readonly sort: number;
}

/** What is known of a thread after some frames. */
export interface ThreadState {
  readonly chatId: string | null;
  /** In the order of `sort`. */
  readonly messages: readonly ThreadMessage[];
  /** A run goes on and this stream follows it. */
  readonly isStreaming: boolean;
  /** How the last run on this stream ended, where it did not end with an answer. */
  readonly isAborted: boolean;
  readonly error: { readonly code: string; readonly message: string; readonly requestId: string } | null;
  /** What the last run on this stream used; null while it goes on. */
  readonly usage: Usage | null;
}

/** A thread of which nothing is known yet. */
export const emptyThread: ThreadState = {
  chatId: null,
  messages: [],
  isStreaming: false,
  isAborted: false,
  error: null,
  usage: null,
};

/** The thread after one more frame. Messages are found by `id`, appended to where `isDelta`, else replaced. */
export function applyFrame(state: ThreadState, frame: Frame): ThreadState {
  switch (frame.id) {
    case '__cutoff__': {
      const { chatId = state.chatId, isStreaming = false } = frame.state ?? {};
      return { ...state, chatId, isStreaming, isAborted: false, error: null, usage: null };
    }
    case '__usage__':
      return { ...state, usage: frame.usage ?? null, isStreaming: false };
    case '__aborted__':
      return { ...state, isAborted: true };
    case '__error__': {
      const { code = 'INTERNAL', error: message = '', requestId = '' } = frame;
      return { ...state, error: { code, message, requestId } };
    }
    default:
      return { ...state, messages: upsert(state.messages, frame) };
  }
}

/** The thread after these frames. */
export function foldFrames(frames: Iterable<Frame>, state: ThreadState = emptyThread): ThreadState {
  let after = state;
  for (const frame of frames) after = applyFrame(after, frame);
  return after;
}

function upsert(messages: readonly ThreadMessage[], frame: Frame): readonly ThreadMessage[] {
  // Frames mostly speak of the last message: look from the end.
  const index = messages.findLastIndex(({ id }) => id === frame.id);
  const before = messages[index];
  const message = toMessage(frame, frame.isDelta === true ? before : undefined);
  if (before !== undefined && before.sort === message.sort) return messages.with(index, message);
  const others = before === undefined ? messages : messages.toSpliced(index, 1);
  const place = others.findLastIndex(({ sort }) => sort <= message.sort) + 1;
  return others.toSpliced(place, 0, message);
}

function toMessage(frame: Frame, before: ThreadMessage | undefined): ThreadMessage {
  const { id, role, graphPath = [], toolCall = before?.toolCall, isInProcess = false, sort } = frame;
  const content = (before?.content ?? '') + frame.content;
  const thinking =
    before?.thinking === undefined && frame.thinking === undefined
      ? undefined
      : (before?.thinking ?? '') + (frame.thinking ?? '');
  return {
    id,
    role,
    content,
    ...(thinking === undefined ? {} : { thinking }),
    graphPath,
    ...(toolCall === undefined ? {} : { toolCall }),
    isInProcess,
    sort,
  };
}

/** The final answers among frames, in order (service.md 4.3, extracting the final answer); the last one is the newest run's. */
export function finalAnswers(frames: Iterable<Frame>): string[] {
  return [...frames]
    .filter(({ role, graphPath }) => role === 'assistant' && graphPath?.[0] === 'final' && graphPath.length <= 2)
    .map(({ content }) => content);
}

/** The newest final answer among frames; null when there is none, as in an aborted or failed run. */
export function finalAnswer(frames: Iterable<Frame>): string | null {
  return finalAnswers(frames).at(-1) ?? null;
}
