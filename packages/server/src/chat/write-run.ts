/** Writes a run: every event of the agent to the run's log, in order, to the end. */
import type { Usage } from '@inlay/contract/chat.ts';
import type { AgentEvent } from '../agent/events.ts';
import type { AgentInput, RunAgent } from '../agent/run-agent.ts';
import { InlayError } from '../errors.ts';
import { failedInside } from './end-causes.ts';
import { applyEvent, type RunState } from './frames.ts';
import type { LogEntry } from './log-entries.ts';
import type { RunLog } from './log-writer.ts';
import type { RunEnd } from './write-log.ts';

/** A run that is to be written. */
export interface RunWriting {
  readonly id: string;
  readonly requestId: string;
  readonly runLog: RunLog;
  /** The messages that it has open already are those of a run that is carried on. */
  readonly state: RunState;
  /** What it has used before. */
  readonly usage: Usage;
  /** Aborts when the run is to end. */
  readonly signal: AbortSignal;
}

/**
 * Runs the agent and writes what it does; resolves when the end is durable, or the run is lost. A run that is told to stop before
 * its agent has begun ends without it. What the agent's last words are (its answer, or why there is none) is kept together with
 * the end of the run, so that a run that is carried on has not said them. Never rejects: what fails here ends the run with an
 * error line and is logged.
 * @param toInput makes what the agent is asked; its failure is the run's.
 */
export async function writeRun(
  { log, runAgent }: { readonly log: { error(fields: object, message: string): void }; readonly runAgent: RunAgent },
  { id, requestId, runLog, state: begun, usage, signal }: RunWriting,
  toInput: () => AgentInput,
): Promise<void> {
  let state = begun;

  const toEntries = (event: AgentEvent): LogEntry[] => {
    if (event.type === 'step') return [{ frame: null, step: event.step }];
    const { state: next, frame, closed, voided } = applyEvent(state, event);
    state = next;
    return frame === null ? [] : [{ frame, closed, voided, step: null }];
  };

  /** The last words, and the end; messages that are open still are closed with what they have. */
  async function finish(last: readonly AgentEvent[], end: RunEnd): Promise<void> {
    const open = closeAll(state, failedInside());
    await runLog.end([...open, ...last].flatMap(toEntries), end);
  }

  async function breakOff(reason: unknown): Promise<void> {
    const cause = reason instanceof InlayError ? reason : failedInside();
    for (const event of closeAll(state, cause)) for (const entry of toEntries(event)) runLog.append(entry);
    const { code, message } = cause;
    const isAbort = code === 'ABORTED';
    const words: AgentEvent = isAbort ? { type: 'aborted' } : { type: 'failed', code, message, requestId };
    const error = isAbort ? null : { code, message, requestId };
    await finish([words, { type: 'usage', usage }], { state: isAbort ? 'aborted' : 'failed', usage, error });
  }

  if (signal.aborted) {
    if (!runLog.isLost) await breakOff(signal.reason);
    return;
  }
  const last: AgentEvent[] = [];
  try {
    for await (const event of runAgent(toInput())) {
      if (runLog.isLost) return;
      if (event.type === 'usage') {
        await finish([...last, event], toEnd(last, event.usage));
        return;
      }
      if (isLastWord(event)) last.push(event);
      else for (const entry of toEntries(event)) runLog.append(entry);
      if (runLog.isFull) await runLog.room();
    }
    if (!runLog.isLost) throw new Error('the agent ended without its usage');
  } catch (err) {
    if (runLog.isLost) return;
    log.error({ err, runId: id, requestId }, 'a run could not be written');
    await breakOff(err instanceof InlayError ? err : null);
  }
}

function isLastWord({ type }: AgentEvent): boolean {
  return type === 'final' || type === 'aborted' || type === 'failed';
}

function toEnd(last: readonly AgentEvent[], usage: Usage): RunEnd {
  const [word] = last;
  if (word?.type === 'final') return { state: 'completed', usage, error: null };
  if (word?.type === 'aborted') return { state: 'aborted', usage, error: null };
  if (word?.type !== 'failed') throw new Error('the agent ended without a last word');
  const { code, message, requestId } = word;
  return { state: 'failed', usage, error: { code, message, requestId } };
}

/** The events that close what is open: text with what it has, a tool call with why it has no result. */
function closeAll(state: RunState, { code, message }: InlayError): AgentEvent[] {
  const result = JSON.stringify({ error: { code, message, hint: '' } });
  return [...state.open.values()].map(({ id, toolCall, thinking }): AgentEvent => {
    if (toolCall !== null) return { type: 'tool-end', messageId: id, result };
    return { type: thinking === null ? 'text-end' : 'thinking-end', messageId: id };
  });
}
