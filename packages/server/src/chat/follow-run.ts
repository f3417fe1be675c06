/** Reading a run as it goes on, until it has ended, or its reader may not read any more. */
import type { Frame, Usage } from '@inlay/contract/chat.ts';
import { InlayError } from '../errors.ts';
import { errorFrame, toHistory, usageFrame } from './frames.ts';
import type { Run } from './runs.ts';
import { noUsage } from './write-run.ts';

/** How long a run that was told to stop may take to say what it used, in milliseconds. */
const usageWaitMs = 400;

/** Who reads. */
export interface Reader {
  /** Aborts when the client is gone: nothing is to be said any more. */
  readonly gone: AbortSignal;
  /** Aborts with an InlayError when the client may not read any more. */
  readonly ended: AbortSignal;
  readonly requestId: string;
}

/**
 * The lines of the run from index `from` on, to its end. When the reader's session, user or key ends first, they stop at once,
 * even where more is waiting: open messages are closed with what they have, then come the error and the usage, as when a run
 * fails (chat-stream.md). The usage is that of the run where it stops as well; nothing is counted for one that goes on.
 */
export async function* followRun(run: Run, from: number, reader: Reader): AsyncGenerator<Frame, void, undefined> {
  const { log } = run;
  const { gone, ended, requestId } = reader;
  let cursor = from;
  for await (const frame of log.follow(cursor, AbortSignal.any([gone, ended]))) {
    cursor += 1;
    yield frame;
  }
  const hasReadAll = log.isEnded && cursor === log.frames.length;
  if (hasReadAll || gone.aborted) return;

  const failure = failureOf(ended.reason);
  const messages = toHistory(log.frames.slice(0, cursor));
  for (const frame of messages) if (frame.isInProcess === true) yield closed(frame, failure);
  const sort = Math.max(run.firstSort, ...messages.map((frame) => frame.sort)) + 1;
  yield errorFrame({ ...failure, requestId }, sort);
  yield usageFrame(run.stopping.aborted ? await usageOf(run) : noUsage, sort + 1);
}

/** A message as it stands at the end; a tool call that has no result gets the failure as such. */
function closed(frame: Frame, failure: { readonly code: string; readonly message: string }): Frame {
  const { toolCall } = frame;
  if (toolCall === undefined) return { ...frame, isInProcess: false };
  const result = JSON.stringify({ error: { ...failure, hint: '' } });
  return { ...frame, isInProcess: false, toolCall: { ...toolCall, result } };
}

async function usageOf({ done, log }: Run): Promise<Usage> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, usageWaitMs);
  await Promise.race([done, late]);
  clearTimeout(timer);
  return log.frames.find(({ id }) => id === '__usage__')?.usage ?? noUsage;
}

function failureOf(reason: unknown): { readonly code: string; readonly message: string } {
  return reason instanceof InlayError
    ? { code: reason.code, message: reason.message }
    : { code: 'INTERNAL', message: 'Something failed inside.' };
}
