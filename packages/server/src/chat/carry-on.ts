/** What is left of a run that stopped in the middle, and where it goes on from. Pure. */
import { frameSchema, type Usage } from '@inlay/contract/chat.ts';
import type { AgentStep, UsageSoFar } from '../agent/agent-step.ts';
import type { ResumeFrom } from '../agent/run-agent.ts';
import { isControl, type Message, noUsage, type RunState, startRun } from './frames.ts';

/** A row of a run's log: a line, which is a frame as JSON, or a step of the agent. */
export interface LeftRow {
  readonly seq: number;
  readonly line: string | null;
  readonly step: AgentStep | null;
}

/** Where a run goes on from. */
export interface Left {
  /** The last place in its log that is taken; 0: it has said nothing. */
  readonly seq: number;
  /** Its messages that are to be said again, or to be finished, are open. */
  readonly state: RunState;
  /** Null when the run has to begin anew. */
  readonly resume: ResumeFrom | null;
  readonly usage: Usage;
}

/** A message as the lines so far tell it, and where it began. */
interface LeftMessage {
  readonly message: Message;
  readonly seq: number;
}

/**
 * Reads the log of a run that stopped. A message is finished when a finished step holds it: the text and the thoughts before the
 * end of a turn of the language model, and the result of each tool call of such a turn. All others are said again in their places.
 * @param rows the whole log, in order.
 * @param firstSort the sort number of the user's message.
 */
export function readLeft(brand: string, firstSort: number, rows: readonly LeftRow[]): Left {
  const messages = new Map<string, LeftMessage>();
  const steps: AgentStep[] = [];
  let turnEndSeq = 0;
  for (const { seq, line, step } of rows) {
    if (step !== null) steps.push(step);
    if (step?.kind === 'turn') turnEndSeq = seq;
    if (line !== null) addLine(messages, seq, line);
  }
  const called = new Set(steps.flatMap((step) => (step.kind === 'turn' ? step.toolCalls : [])).map(messageIdOf));
  const results = new Map<string, string>();
  const unfinished: { kind: 'text' | 'thinking' | 'tool'; messageId: string }[] = [];
  const open = new Map<string, Message>();
  let nextSort = firstSort + 1;
  for (const [messageId, { message, seq }] of [...messages].sort(([, one], [, other]) => one.seq - other.seq)) {
    nextSort = Math.max(nextSort, message.sort + 1);
    const result = message.toolCall?.result;
    if (result !== undefined) results.set(messageId, result);
    const isOfStep = message.toolCall === null ? !message.isInProcess && seq <= turnEndSeq : called.has(messageId);
    if (!isOfStep) unfinished.push({ kind: kindOf(message), messageId });
    if (message.isInProcess || (!isOfStep && message.toolCall === null)) {
      open.set(messageId, { ...message, isInProcess: true });
    }
  }
  return {
    seq: rows.at(-1)?.seq ?? 0,
    state: { ...startRun(brand, nextSort), open },
    resume: rows.length === 0 ? null : { steps, results, unfinished },
    usage: usageOf(steps.at(-1)?.usage ?? null),
  };
}

function addLine(messages: Map<string, LeftMessage>, seq: number, line: string): void {
  const frame = frameSchema.parse(JSON.parse(line));
  if (isControl(frame)) return;
  const { id, role, content, thinking = null, graphPath = null, toolCall = null, isInProcess = false, sort } = frame;
  const before = messages.get(id);
  const said = frame.isDelta === true ? before?.message : undefined;
  const message: Message = {
    id,
    role,
    content: (said?.content ?? '') + content,
    thinking: thinking === null ? (said?.thinking ?? null) : (said?.thinking ?? '') + thinking,
    graphPath,
    toolCall: toolCall === null ? null : withoutUndefined(toolCall),
    modelText: null,
    isInProcess,
    sort,
  };
  messages.set(id, { message, seq: before?.seq ?? seq });
}

function withoutUndefined({
  name,
  input,
  result,
}: {
  name: string;
  input: string;
  result?: string | undefined;
}): Message['toolCall'] {
  return result === undefined ? { name, input } : { name, input, result };
}

function kindOf({ toolCall, thinking }: Message): 'text' | 'thinking' | 'tool' {
  if (toolCall !== null) return 'tool';
  return thinking === null ? 'text' : 'thinking';
}

const messageIdOf = ({ messageId }: { readonly messageId: string }): string => messageId;

/** What a run had used when its last step was finished. */
function usageOf(used: UsageSoFar | null): Usage {
  if (used === null) return noUsage;
  const { models, llmCalls, inputTokens, outputTokens, queries, rows } = used;
  return {
    models: [...models],
    llmCalls,
    inputTokens,
    outputTokens,
    totalTokens: inputTokens + outputTokens,
    queries,
    rows,
  };
}
