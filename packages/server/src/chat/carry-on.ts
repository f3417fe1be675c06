/** What is left of a run that stopped in the middle, and where it goes on from. Pure. */
import { type Frame, frameSchema, type Usage } from '@inlay/contract/chat.ts';
import { type AgentStep, toUsage } from '../agent/agent-step.ts';
import type { ResumeFrom } from '../agent/run-agent.ts';
import { type Message, noUsage, type RunState, startRun, toHistory } from './frames.ts';

/** An entry of a run's log as it is read back: a line, which is a frame as JSON, or a step of the agent. */
export interface LoggedEntry {
  readonly seq: number;
  readonly line: string | null;
  readonly step: AgentStep | null;
}

/** How far a run has come, and so where it goes on from. */
export interface RunProgress {
  /** The last place in its log that is taken; 0: it has said nothing. */
  readonly seq: number;
  /** Its messages that are to be said again, or to be finished, are open. */
  readonly state: RunState;
  /** Null when the run has to begin anew. */
  readonly resume: ResumeFrom | null;
  /** What it had used when its last step was finished. */
  readonly usage: Usage;
}

/**
 * Reads the log of a run that stopped. A message is finished when a finished step holds it: the text and the thoughts before the
 * end of a turn of the language model, and the result of each tool call of such a turn. All others are said again in their places.
 * @param log the whole log, in order.
 * @param firstSort the sort number of the user's message.
 */
export function readProgress(brand: string, firstSort: number, log: readonly LoggedEntry[]): RunProgress {
  const frames: Frame[] = [];
  /** Where each message began. */
  const begins = new Map<string, number>();
  const steps: AgentStep[] = [];
  let turnEndSeq = 0;
  for (const { seq, line, step } of log) {
    if (step !== null) steps.push(step);
    if (step?.kind === 'turn') turnEndSeq = seq;
    if (line === null) continue;
    const frame = frameSchema.parse(JSON.parse(line));
    frames.push(frame);
    if (!begins.has(frame.id)) begins.set(frame.id, seq);
  }
  const called = new Set(steps.flatMap((step) => (step.kind === 'turn' ? step.toolCalls : [])).map(messageIdOf));
  const results = new Map<string, string>();
  const unfinished: { kind: 'text' | 'thinking' | 'tool'; messageId: string }[] = [];
  const open = new Map<string, Message>();
  let nextSort = firstSort + 1;
  for (const frame of toHistory(frames)) {
    const { id: messageId, toolCall, isInProcess = false, sort } = frame;
    nextSort = Math.max(nextSort, sort + 1);
    if (toolCall?.result !== undefined) results.set(messageId, toolCall.result);
    const hasEnded = !isInProcess && (begins.get(messageId) ?? 0) <= turnEndSeq;
    const isOfStep = toolCall === undefined ? hasEnded : called.has(messageId);
    if (!isOfStep) unfinished.push({ kind: kindOf(frame), messageId });
    if (isInProcess || (!isOfStep && toolCall === undefined)) open.set(messageId, toOpenMessage(frame));
  }
  const used = steps.at(-1)?.usage;
  return {
    seq: log.at(-1)?.seq ?? 0,
    state: { ...startRun(brand, nextSort), open },
    resume: log.length === 0 ? null : { steps, results, unfinished },
    usage: used === undefined ? noUsage : toUsage(used),
  };
}

/**
 * The same of a log that is damaged: what of it can be read, all that is open in it to be closed with what it has. There is nothing
 * to go on from.
 */
export function readDamaged(brand: string, firstSort: number, log: readonly LoggedEntry[]): RunProgress {
  const frames = toHistory(log.flatMap(({ line }) => readableFrame(line)));
  const nextSort = Math.max(firstSort, ...frames.map(({ sort }) => sort)) + 1;
  const open = new Map(
    frames.filter(({ isInProcess }) => isInProcess === true).map((frame) => [frame.id, toOpenMessage(frame)]),
  );
  return { seq: log.at(-1)?.seq ?? 0, state: { ...startRun(brand, nextSort), open }, resume: null, usage: noUsage };
}

function readableFrame(line: string | null): Frame[] {
  if (line === null) return [];
  try {
    return [frameSchema.parse(JSON.parse(line))];
  } catch {
    return [];
  }
}

/** A message of which the lines so far tell this, and which is to be finished. */
function toOpenMessage({ id, role, content, thinking, graphPath, toolCall, sort }: Frame): Message {
  return {
    id,
    role,
    content,
    thinking: thinking ?? null,
    graphPath: graphPath ?? null,
    toolCall: toolCall === undefined ? null : { name: toolCall.name, input: toolCall.input },
    modelText: null,
    isInProcess: true,
    sort,
  };
}

function kindOf({ toolCall, thinking }: Frame): 'text' | 'thinking' | 'tool' {
  if (toolCall !== undefined) return 'tool';
  return thinking === undefined ? 'text' : 'thinking';
}

const messageIdOf = ({ messageId }: { readonly messageId: string }): string => messageId;
