/** Writes a run: every event of the agent to the store and to the run's log, in this order, to the end. */
import type { Usage } from '@inlay/contract/chat.ts';
import type { AgentInput } from '../agent/agent-loop.ts';
import type { AgentEvent } from '../agent/events.ts';
import { InlayError } from '../errors.ts';
import { applyEvent, type Message, type RunState } from './frames.ts';
import { interrupted } from './interrupted-runs.ts';
import { endRun, type RunEnd, writeMessage } from './run-store.ts';
import type { RunsDependencies } from './runs.ts';
import type { ThreadLog } from './thread-log.ts';

/** Attempts to keep the end of a run; without it the thread takes no input until the next start. */
const endAttemptsMax = 5;

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

/**
 * What is being written. `onEnd` is called once, before the last line is out: whoever reads it may ask again. `onLost` is called
 * when the store takes nothing more of the run; nothing is kept from then on, and the readers get their lines to the end.
 */
export interface RunWriting {
  readonly id: string;
  readonly threadId: string;
  readonly log: ThreadLog;
  readonly state: RunState;
  onEnd(): void;
  onLost(reason: InlayError): void;
}

/**
 * Runs the agent and writes what it does. A message is kept before the line that closes it goes out, a tool call also before
 * the line that begins it; a text that begins is kept while its first words go out. Never rejects: what fails here ends the
 * run with an error line and is logged.
 */
export async function writeRun(
  { db, clock, log: serverLog, runAgent }: Pick<RunsDependencies, 'db' | 'clock' | 'log' | 'runAgent'>,
  run: RunWriting,
  agentInput: AgentInput,
): Promise<void> {
  let state = run.state;
  let end: RunEnd = { state: 'failed', usage: null, error: null };
  let beginning: Promise<void> = Promise.resolve();
  let isLost = false;
  let isOver = false;

  async function keep(message: Message): Promise<void> {
    if (isLost) return;
    const keeping = await writeMessage(db, run, message, clock());
    if (keeping === 'kept') return;
    isLost = true;
    run.onLost(
      keeping === 'closed'
        ? new InlayError(interrupted.code, interrupted.message)
        : new InlayError('SESSION_ENDED', 'The user or the thread is gone'),
    );
  }

  async function write(event: AgentEvent): Promise<void> {
    const { state: next, frame, message } = applyEvent(state, event);
    if (message !== null) {
      const kept = beginning.then(() => keep(message));
      if (event.type === 'text-delta') {
        beginning = kept;
        kept.catch(() => undefined);
      } else await kept;
    }
    state = next;
    end = endAfter(end, event);
    if (event.type === 'usage') await keepEnd();
    run.log.append(frame);
  }

  async function keepEnd(): Promise<void> {
    isOver = true;
    for (let attempt = 1; attempt <= endAttemptsMax; attempt++) {
      try {
        await endRun(db, run.id, end, clock());
        break;
      } catch (error) {
        serverLog.error({ err: error, runId: run.id, attempt }, 'the end of a run could not be kept');
        await new Promise((resolve) => setTimeout(resolve, 100 * attempt));
      }
    }
    run.onEnd();
  }

  try {
    for await (const event of runAgent(agentInput)) await write(event);
    if (end.usage === null) throw new Error('the agent ended without its usage');
  } catch (error) {
    serverLog.error({ err: error, runId: run.id, requestId: agentInput.requestId }, 'a run could not be written');
    beginning = Promise.resolve();
    // An agent that fails after its last word has said everything: the end is kept, and the run's place given back.
    const missing = isOver ? [] : breakOff(state, agentInput.requestId);
    for (const event of missing) {
      // Readers get their lines even when the store takes nothing.
      await write(event).catch(() => {
        const { state: next, frame } = applyEvent(state, event);
        state = next;
        run.log.append(frame);
      });
    }
  }
  run.log.end();
}

function endAfter(end: RunEnd, event: AgentEvent): RunEnd {
  switch (event.type) {
    case 'final':
      return { ...end, state: 'completed' };
    case 'aborted':
      return { ...end, state: 'aborted' };
    case 'failed':
      return {
        ...end,
        state: 'failed',
        error: { code: event.code, message: event.message, requestId: event.requestId },
      };
    case 'usage':
      return { ...end, usage: event.usage };
    default:
      return end;
  }
}

/** The events that close a run which cannot go on: open messages with what they have, the error, the usage. */
function breakOff(state: RunState, requestId: string): AgentEvent[] {
  const failure = { code: 'INTERNAL', message: 'Something failed inside.' } as const;
  const closed = [...state.open.values()].map(
    ({ id, toolCall }): AgentEvent =>
      toolCall === null
        ? { type: 'text-end', messageId: id }
        : { type: 'tool-end', messageId: id, result: JSON.stringify({ error: { ...failure, hint: '' } }) },
  );
  return [...closed, { type: 'failed', ...failure, requestId }, { type: 'usage', usage: noUsage }];
}
