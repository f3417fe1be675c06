/**
 * Messages, agent events and the lines that they become on the wire: pure, and the only place that knows which members a
 * line has, and in which order (chat-stream.md; recorded examples are the tests' fixtures).
 */
import type { Frame, ToolCall, Usage } from '@inlay/contract/chat.ts';
import { appendText } from '../agent/append-text.ts';
import type { AgentEvent } from '../agent/events.ts';

/** A message of a thread, as it is kept and as it stands in a thread's history. */
export interface Message {
  readonly id: string;
  readonly role: 'user' | 'assistant';
  readonly content: string;
  /** Null on the user's own messages. */
  readonly graphPath: readonly string[] | null;
  readonly toolCall: ToolCall | null;
  /** The language model's thoughts; null on all other messages. */
  readonly thinking: string | null;
  /** The text as the language model wrote it, where `content` is not that: placeholders were filled in. Never on the wire. */
  readonly modelText: string | null;
  readonly isInProcess: boolean;
  /** From 1 up, without gaps, through the whole thread. */
  readonly sort: number;
}

/** Why a run failed, as the client may know it. */
export interface RunFailure {
  readonly code: string;
  readonly message: string;
  readonly requestId: string;
}

/** The agent in `graphPath`; `brand` stands for `platform`. */
function graphRootOf(brand: string): string {
  return `${brand}_data_analyst_agent`;
}

/** A message as a whole line: its content so far where it is still in process. */
export function messageFrame(message: Message): Frame {
  const { id, role, content, thinking, graphPath, toolCall, isInProcess, sort } = message;
  return {
    id,
    role,
    content,
    ...(thinking === null ? {} : { thinking }),
    ...(graphPath === null ? {} : { graphPath: [...graphPath] }),
    isDelta: false,
    isInProcess,
    sort,
    ...(toolCall === null ? {} : { toolCall: toolCallInOrder(toolCall) }),
  };
}

function toolCallInOrder({ name, input, result }: ToolCall): ToolCall {
  return { name, input, ...(result === undefined ? {} : { result }) };
}

/** An increment of a message: of its text, or of its thoughts. */
function deltaFrame({ id, role, graphPath, sort }: Message, said: { content: string; thinking?: string }): Frame {
  return {
    id,
    role,
    ...said,
    ...(graphPath === null ? {} : { graphPath: [...graphPath] }),
    isDelta: true,
    isInProcess: true,
    sort,
  };
}

/** Here history ends and live begins; `isStreaming` says that a run follows on this stream. */
export function cutoffFrame(chatId: string, isStreaming: boolean): Frame {
  return { id: '__cutoff__', role: 'assistant', content: '', sort: 0, state: { chatId, isStreaming } };
}

/** What a run used; the last line of every run. The order of members is that of the wire, whatever the store's is. */
export function usageFrame(
  { models, llmCalls, inputTokens, outputTokens, totalTokens, queries, rows }: Usage,
  sort: number,
): Frame {
  const usage = { models, llmCalls, inputTokens, outputTokens, totalTokens, queries, rows };
  return { id: '__usage__', type: 'usage', role: 'assistant', content: '', sort, usage };
}

/** Models none, all counts zero. */
export const noUsage: Usage = {
  models: [],
  llmCalls: 0,
  inputTokens: 0,
  outputTokens: 0,
  totalTokens: 0,
  queries: 0,
  rows: 0,
};

/** The run was stopped by the user. */
export function abortedFrame(sort: number): Frame {
  return { id: '__aborted__', type: 'abort', role: 'assistant', content: '', sort, code: 'chat_aborted' };
}

/** The run failed after the stream had begun. */
export function errorFrame({ code, message, requestId }: RunFailure, sort: number): Frame {
  return { id: '__error__', role: 'assistant', content: '', sort, error: message, code, requestId };
}

/** True for the lines that are never history. */
export function isControl({ id }: Pick<Frame, 'id'>): boolean {
  return id.startsWith('__');
}

/** A run as it is being written. Replaced, never changed. */
export interface RunState {
  /** The first part of `graphPath` of the agent's messages. */
  readonly graphRoot: string;
  /** The sort number that the next message takes. Control frames stand there too, but do not use it up. */
  readonly nextSort: number;
  /** Control frames since the last message; each stands above the one before. */
  readonly controls: number;
  /** The messages in process by id. */
  readonly open: ReadonlyMap<string, Message>;
}

/** What an event comes to. */
export interface Applied {
  readonly state: RunState;
  /** The line to send; null: none. */
  readonly frame: Frame | null;
  /** The message that has closed, and is to be kept. */
  readonly closed: Message | null;
  /** The message, by its sort number, of which nothing that was said counts any more. */
  readonly voided: number | null;
}

/** The state of a run whose messages take the sort numbers from `nextSort` up. */
export function startRun(brand: string, nextSort: number): RunState {
  return { graphRoot: graphRootOf(brand), nextSort, controls: 0, open: new Map() };
}

/** Applies one event of the agent. @throws Error when the event closes a message that is not open: a defect. */
export function applyEvent(state: RunState, event: AgentEvent): Applied {
  switch (event.type) {
    case 'text-delta': {
      const before = state.open.get(event.messageId) ?? newMessage(state, event.messageId, [state.graphRoot]);
      const message = { ...before, content: appendText(before.content, event.text) };
      return go(state, message, deltaFrame(message, { content: event.text }));
    }
    case 'thinking-delta': {
      const before = state.open.get(event.messageId) ?? newMessage(state, event.messageId, [state.graphRoot]);
      const message = { ...before, thinking: appendText(before.thinking ?? '', event.text) };
      return go(state, message, deltaFrame(message, { content: '', thinking: event.text }));
    }
    case 'text-end':
      return close(state, { ...openMessage(state, event.messageId), modelText: event.modelText ?? null });
    case 'thinking-end':
      return close(state, openMessage(state, event.messageId));
    case 'tool-start': {
      // The call of a run that is carried on begins once more, in its place.
      const before = state.open.get(event.messageId) ?? newMessage(state, event.messageId, [state.graphRoot, 'tools']);
      const message = { ...before, toolCall: { name: event.name, input: event.input } };
      return go(state, message, messageFrame(message));
    }
    case 'tool-end': {
      const before = openMessage(state, event.messageId);
      return close(state, { ...before, toolCall: before.toolCall && { ...before.toolCall, result: event.result } });
    }
    case 'restart': {
      const before = openMessage(state, event.messageId);
      const message = { ...before, content: '', thinking: before.thinking === null ? null : '' };
      return { ...go(state, message, messageFrame(message)), voided: message.sort };
    }
    case 'step':
      return { state, frame: null, closed: null, voided: null };
    case 'final':
      return close(state, { ...newMessage(state, event.messageId, ['final']), content: event.text });
    case 'aborted':
      return control(state, abortedFrame);
    case 'failed':
      return control(state, (sort) => errorFrame(event, sort));
    case 'usage':
      return control(state, (sort) => usageFrame(event.usage, sort));
  }
}

function newMessage({ nextSort }: RunState, id: string, graphPath: readonly string[]): Message {
  return {
    id,
    role: 'assistant',
    content: '',
    graphPath,
    toolCall: null,
    thinking: null,
    modelText: null,
    isInProcess: true,
    sort: nextSort,
  };
}

function openMessage({ open }: RunState, id: string): Message {
  const message = open.get(id);
  if (message === undefined) throw new Error(`no open message ${id}`);
  return message;
}

/** The message is being written. */
function go(state: RunState, message: Message, frame: Frame): Applied {
  const open = new Map(state.open).set(message.id, message);
  const nextSort = Math.max(state.nextSort, message.sort + 1);
  return { state: { ...state, open, nextSort, controls: 0 }, frame, closed: null, voided: null };
}

/** The message is whole. */
function close(state: RunState, message: Message): Applied {
  const closed = { ...message, isInProcess: false };
  const open = new Map(state.open);
  open.delete(message.id);
  const nextSort = Math.max(state.nextSort, message.sort + 1);
  return { state: { ...state, open, nextSort, controls: 0 }, frame: messageFrame(closed), closed, voided: null };
}

function control(state: RunState, toFrame: (sort: number) => Frame): Applied {
  const frame = toFrame(state.nextSort + state.controls);
  return { state: { ...state, controls: state.controls + 1 }, frame, closed: null, voided: null };
}

/**
 * What the lines of a run so far come to as history: each message once, whole, in order; one still being written as its
 * content so far. Together with the lines that follow it is the same as having read all of them.
 */
export function toHistory(frames: readonly Frame[]): Frame[] {
  const messages = new Map<string, Frame>();
  for (const frame of frames) {
    if (isControl(frame)) continue;
    const before = messages.get(frame.id);
    const isMore = frame.isDelta === true && before !== undefined;
    const content = isMore ? before.content + frame.content : frame.content;
    const said =
      frame.thinking === undefined
        ? { content }
        : { content, thinking: (isMore ? (before.thinking ?? '') : '') + frame.thinking };
    messages.set(frame.id, { ...frame, ...said, isDelta: false });
  }
  return [...messages.values()];
}
