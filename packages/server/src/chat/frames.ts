/**
 * Messages, agent events and the lines that they become on the wire: pure, and the only place that knows which members a
 * line has, and in which order (chat-stream.md; recorded examples are the tests' fixtures).
 */
import type { Frame, ToolCall, Usage } from '@inlay/contract/chat.ts';
import type { AgentEvent } from '../agent/events.ts';

/** A message of a thread, as it is kept and as it stands in a thread's history. */
export interface Message {
  readonly id: string;
  readonly role: 'user' | 'assistant';
  readonly content: string;
  /** Null on the user's own messages. */
  readonly graphPath: readonly string[] | null;
  readonly toolCall: ToolCall | null;
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

/** The name of the agent's node in `graphPath`; `brand` stands for `platform`. */
function agentNode(brand: string): string {
  return `${brand}_data_analyst_agent`;
}

/** A message as a whole line: its content so far where it is still in process. */
export function messageFrame(message: Message): Frame {
  const { id, role, content, graphPath, toolCall, isInProcess, sort } = message;
  return {
    id,
    role,
    content,
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

/** An increment of a message. */
function deltaFrame({ id, role, graphPath, sort }: Message, content: string): Frame {
  return {
    id,
    role,
    content,
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

/** The run was stopped by the user. */
export function abortedFrame(sort: number): Frame {
  return { id: '__aborted__', type: 'abort', role: 'assistant', content: '', sort, code: 'chat_aborted' };
}

/** The run failed after the stream had begun. */
export function errorFrame({ code, message, requestId }: RunFailure, sort: number): Frame {
  return { id: '__error__', role: 'assistant', content: '', sort, error: message, code, requestId };
}

/** True for the lines that are never history. */
function isControl({ id }: Frame): boolean {
  return id.startsWith('__');
}

/** A run as it is being written. Replaced, never changed. */
export interface RunState {
  /** The agent's node, the first part of its messages' `graphPath`. */
  readonly node: string;
  /** The sort number that the next message takes. Control frames stand there too, but do not use it up. */
  readonly nextSort: number;
  /** Control frames since the last message; each stands above the one before. */
  readonly controls: number;
  /** The messages in process by id. */
  readonly open: ReadonlyMap<string, Message>;
}

/** What an event means: the next state, the line to send, and the message to keep where it began or closed. */
export interface Step {
  readonly state: RunState;
  readonly frame: Frame;
  readonly message: Message | null;
}

/** The state of a run whose messages take the sort numbers from `nextSort` up. */
export function startRun(brand: string, nextSort: number): RunState {
  return { node: agentNode(brand), nextSort, controls: 0, open: new Map() };
}

/** Applies one event of the agent. @throws Error when the event closes a message that is not open: a defect. */
export function applyEvent(state: RunState, event: AgentEvent): Step {
  switch (event.type) {
    case 'text-delta': {
      const open = state.open.get(event.messageId);
      const before = open ?? newMessage(state, event.messageId, [state.node]);
      const message = { ...before, content: before.content + event.text };
      return { ...step(state, message, deltaFrame(message, event.text)), message: open === undefined ? message : null };
    }
    case 'text-end':
      return keep(state, { ...openMessage(state, event.messageId), isInProcess: false });
    case 'tool-start': {
      const toolCall = { name: event.name, input: event.input };
      return keep(state, { ...newMessage(state, event.messageId, [state.node, 'tools']), toolCall });
    }
    case 'tool-end': {
      const before = openMessage(state, event.messageId);
      const toolCall = before.toolCall && { ...before.toolCall, result: event.result };
      return keep(state, { ...before, toolCall, isInProcess: false });
    }
    case 'final':
      return keep(state, { ...newMessage(state, event.messageId, ['final']), content: event.text, isInProcess: false });
    case 'aborted':
      return control(state, abortedFrame);
    case 'failed':
      return control(state, (sort) => errorFrame(event, sort));
    case 'usage':
      return control(state, (sort) => usageFrame(event.usage, sort));
  }
}

function newMessage({ nextSort }: RunState, id: string, graphPath: readonly string[]): Message {
  return { id, role: 'assistant', content: '', graphPath, toolCall: null, isInProcess: true, sort: nextSort };
}

function openMessage({ open }: RunState, id: string): Message {
  const message = open.get(id);
  if (message === undefined) throw new Error(`no open message ${id}`);
  return message;
}

function keep(state: RunState, message: Message): Step {
  return { ...step(state, message, messageFrame(message)), message };
}

function step(state: RunState, message: Message, frame: Frame): Omit<Step, 'message'> {
  const open = new Map(state.open);
  if (message.isInProcess) open.set(message.id, message);
  else open.delete(message.id);
  const nextSort = Math.max(state.nextSort, message.sort + 1);
  return { state: { ...state, open, nextSort }, frame };
}

function control(state: RunState, toFrame: (sort: number) => Frame): Step {
  const frame = toFrame(state.nextSort + state.controls);
  return { state: { ...state, controls: state.controls + 1 }, frame, message: null };
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
    const content = frame.isDelta === true ? (before?.content ?? '') + frame.content : frame.content;
    messages.set(frame.id, { ...frame, content, isDelta: false });
  }
  return [...messages.values()];
}

/** What a reader gets who joins a run: the lines to begin with, and the index in the run's lines to go on from. */
export interface Join {
  readonly head: readonly Frame[];
  readonly from: number;
}

/**
 * Joins a run when `joinAt` of its lines are out. Control frames are never history, so a reader who comes between them and
 * the end of the run gets them live.
 * @param before the history before the run, whole.
 */
export function joinRun(chatId: string, before: readonly Frame[], runFrames: readonly Frame[], joinAt: number): Join {
  const lastMessage = runFrames.slice(0, joinAt).findLastIndex((frame) => !isControl(frame));
  const from = lastMessage + 1;
  return { head: [...before, ...toHistory(runFrames.slice(0, from)), cutoffFrame(chatId, true)], from };
}
