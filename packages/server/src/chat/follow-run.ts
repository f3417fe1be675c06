/** Reading a run as it goes on, until it has ended, or its reader may not read any more. */
import { type Frame, frameSchema, type Usage } from '@inlay/contract/chat.ts';
import { type Kysely, sql } from 'kysely';
import { followSignal } from '../agent/follow-signal.ts';
import { InlayError } from '../errors.ts';
import type { Schema } from '../store/schema.ts';
import { withinMs } from '../waiting.ts';
import { failedInside, interrupted } from './end-causes.ts';
import { brokenOffFrames, endFrames, readEnding, readRunMessages } from './ended-run.ts';
import { toHistory } from './frames.ts';
import type { Following, RunTails } from './run-tails.ts';

/** How long a run that ends with its reader may take to say what it used, in milliseconds. */
const usageWaitMs = 400;
/** How long the store may take to tell what was said of messages that are to be closed. */
const saidWaitMs = 300;

/** Who reads. */
export interface Reader {
  /** Aborts when the client is gone: nothing is to be said any more. */
  readonly gone: AbortSignal;
  /** Aborts with an InlayError when the client may not read any more. */
  readonly ended: AbortSignal;
  readonly requestId: string;
}

/**
 * What is read of a run, and what its reader has been told of it before. The lists are looked at when the first line is asked for: they
 * may grow up to then, while the reader is told what was before.
 */
export interface RunReading extends Pick<Following, 'runId' | 'from'> {
  /** The messages that the reader has open. */
  readonly open: readonly Frame[];
  /** Sort numbers below the highest of messages that the reader has not been told of. */
  readonly missing: readonly number[];
  /** The highest sort number that the reader was told. */
  readonly sort: number;
}

/** What following needs. */
export interface FollowDependencies {
  readonly db: Kysely<Schema>;
  readonly tails: RunTails;
}

/** Why something has no end of its own. */
export interface Failure {
  readonly code: string;
  readonly message: string;
}

/** A frame as it goes to a reader. */
export function toLine(frame: Frame): string {
  return `${JSON.stringify(frame)}\n`;
}

/**
 * What came before the run, then the lines of the run, each with its `\n`, to its end. A reader so slow that the log has gone is told the rest in whole messages.
 * When the reader's session, user or key ends first, the lines stop at once, even where more is waiting: open messages are closed
 * with what they have, then come the error and the usage, as when a run fails (chat-stream.md). The usage is that of the run where
 * it ends at once as well, with the same session, user or key; nothing is counted for one that goes on.
 * @throws InlayError NOT_READY when the process stops: the run may go on elsewhere.
 */
export function followRun(
  { db, tails }: FollowDependencies,
  reading: RunReading,
  reader: Reader,
  before: AsyncIterable<string>,
): AsyncGenerator<string, void, undefined> {
  const { runId } = reading;
  const { ended, requestId } = reader;
  const follower = followSignal(reader.gone);
  const gone = follower.signal;
  // Now and not with the first line: from here on nothing is missed.
  const lines = tails.follow({ ...reading, gone, ended });
  /** The messages that the reader has open by sort number, each as the first line that was sent of it. */
  const open = new Map<number, string>();
  let place = reading.from;
  let highest = reading.sort;

  /** What the reader has open is closed with what they have of it. */
  async function* closeOpen(failure: Failure): AsyncGenerator<string, void, undefined> {
    const said = open.size === 0 ? [] : await withinMs(readSaid(db, runId, [...open.keys()], place), saidWaitMs, []);
    for (const first of open.values()) {
      const opened = frameSchema.parse(JSON.parse(first));
      yield toLine(closed(opened, said.find(({ id }) => id === opened.id) ?? null, failure));
    }
  }

  async function* breakOff(failure: Failure): AsyncGenerator<string, void, undefined> {
    yield* closeOpen(failure);
    const usage = ended.aborted ? await readUsage(tails, runId, place, gone) : null;
    for (const frame of brokenOffFrames({ ...failure, requestId }, usage, highest + 1)) yield toLine(frame);
  }

  /** The log is gone: what is left is in the messages. */
  async function* readRest(): AsyncGenerator<string, void, undefined> {
    const ending = await readEnding(db, runId);
    if (ending === undefined) {
      return yield* breakOff({ code: 'NOT_FOUND', message: 'The chat thread has been deleted.' });
    }
    // Nobody can say what has become of it: the client comes back, and finds it.
    if (ending.state === 'running') throw new InlayError('NOT_READY', 'The log of the run cannot be read.');
    for (const frame of await readRunMessages(db, runId)) {
      if (frame.sort <= highest && !open.has(frame.sort) && !reading.missing.includes(frame.sort)) continue;
      highest = Math.max(highest, frame.sort);
      open.delete(frame.sort);
      yield toLine(frame);
    }
    // Of a run whose log is damaged something that was open may be kept nowhere.
    yield* closeOpen(ending.error ?? interrupted);
    for (const frame of endFrames(ending, highest + 1)) yield toLine(frame);
  }

  return (async function* () {
    try {
      yield* before;
      for (const frame of reading.open) open.set(frame.sort, toLine(frame));
      for await (const line of lines) {
        place = line.seq;
        if (!line.isControl) {
          highest = Math.max(highest, line.sort);
          // Within a text of the frame the quotes are escaped.
          if (!line.text.includes('"isInProcess":true')) open.delete(line.sort);
          else if (!open.has(line.sort)) open.set(line.sort, line.text);
        }
        yield line.text;
        if (line.isLast) return;
      }
      if (gone.aborted) return;
      if (ended.aborted) yield* breakOff(failureOf(ended.reason));
      else yield* readRest();
    } finally {
      // Also where the reader did not come to the run.
      follower.abort(null);
      follower[Symbol.dispose]();
    }
  })();
}

/** A message as it stands at the end; a tool call that has no result gets the failure as such. */
function closed(opened: Frame, said: Frame | null, { code, message }: Failure): Frame {
  const { toolCall } = opened;
  if (toolCall !== undefined) {
    const result = JSON.stringify({ error: { code, message, hint: '' } });
    return { ...opened, isDelta: false, isInProcess: false, toolCall: { ...toolCall, result } };
  }
  if (said !== null) return { ...said, isInProcess: false };
  // What was said of it is gone from the store with its thread: the reader keeps what they have.
  const { thinking, ...rest } = opened;
  return {
    ...rest,
    ...(thinking === undefined ? {} : { thinking: '' }),
    content: '',
    isDelta: true,
    isInProcess: false,
  };
}

/** What the lines of some messages, up to a place in the log, come to. */
async function readSaid(
  db: Kysely<Schema>,
  runId: string,
  sorts: readonly number[],
  upTo: number,
): Promise<readonly Frame[]> {
  const { rows } = await sql<{ readonly line: string }>`
    select line from run_log
    where run_id = ${runId} and seq <= ${upTo} and line is not null and sort in (${sql.join(sorts)})
    order by seq`.execute(db);
  return toHistory(rows.map(({ line }) => frameSchema.parse(JSON.parse(line))));
}

/** What the run used, once it says so; null when it does not soon. */
async function readUsage(tails: RunTails, runId: string, from: number, gone: AbortSignal): Promise<Usage | null> {
  const ended = AbortSignal.timeout(usageWaitMs);
  for await (const { text, isLast } of tails.follow({ runId, from, gone, ended })) {
    if (isLast) return frameSchema.parse(JSON.parse(text)).usage ?? null;
  }
  return null;
}

/** Why a reader may not read on. */
export function failureOf(reason: unknown): Failure {
  const { code, message } = reason instanceof InlayError ? reason : failedInside();
  return { code, message };
}
