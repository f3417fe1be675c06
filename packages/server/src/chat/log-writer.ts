/**
 * Writes the logs of all runs of this process: whatever waits, of however many runs, goes into one statement, as soon as the one
 * before has ended. A line reaches the readers when the statement that holds it has committed, never before.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import { codeOf } from '../errors.ts';
import type { Schema } from '../store/schema.ts';
import { isStoreAway } from '../store/store-away.ts';
import type { Metrics } from '../telemetry/telemetry.ts';
import { charactersOf, type LogEntry, type LogPart, merge, takePart, type WaitingEntry } from './log-entries.ts';
import type { LogReaders } from './thread-log.ts';
import { type RunClaim, type RunEnd, writeLog } from './write-log.ts';

/** Characters of a run that may wait to be written before its agent has to. */
const waitingCharactersMax = 262_144;
/** Characters in one statement; a run that alone has more at its end goes with all of it. */
const batchCharactersMax = 1_048_576;
/** How long the writer rests after a statement, in times that it has kept this thread busy, and in milliseconds at most. */
const restPerBusy = 3;
const restMsMax = 20;
/** What keeps the thread busy for less is as good as nothing. */
const busyMsMin = 0.25;
/** Waiting between attempts while the store is away, in milliseconds: doubled each time. */
const retryMsMin = 20;
const retryMsMax = 1000;

/** What log writers need. */
export interface LogWriterDependencies {
  readonly db: Kysely<Schema>;
  readonly clock: () => Date;
  readonly log: { error(fields: object, message: string): void; warn(fields: object, message: string): void };
  readonly metrics: Pick<Metrics, 'logFlushed' | 'runEnded'>;
  readonly nodeId: string;
  readonly readers: LogReaders;
  /** How long the store may be away before runs are given up: others carry them on then. In milliseconds. */
  readonly leaseMs: number;
}

/** The log of one run, as its writer sees it. */
export interface RunLog {
  /** Nothing is taken any more: the run is not this node's. */
  readonly isLost: boolean;
  append(entry: LogEntry): void;
  /** More waits than may: the run is to wait for {@link RunLog.room}. */
  readonly isFull: boolean;
  /** Resolves when the run may write more, or is lost. */
  room(): Promise<void>;
  /** Appends the last lines and the end, all or nothing; resolves when they are durable, or the run is lost. */
  end(entries: readonly LogEntry[], end: RunEnd): Promise<void>;
  /** Takes nothing more, and forgets what is not under way; the run is not told that it is lost. */
  drop(): void;
}

/** The logs that this process writes. */
export interface LogWriter {
  /** Begins to write a run after `seq`; `onLost` is called, at most once, when it turns out that it is not this node's any more. */
  open(run: RunClaim, seq: number, onLost: () => void): RunLog;
  /** Resolves when no statement is under way and none is needed. */
  idle(): Promise<void>;
}

interface OpenLog {
  readonly run: RunClaim;
  readonly onLost: () => void;
  seq: number;
  waiting: WaitingEntry[];
  /** Of what waits and what is under way. */
  characters: number;
  isLost: boolean;
  isDone: boolean;
  /** Settled, and replaced, whenever something was written, and when the run is lost. */
  news: PromiseWithResolvers<void>;
}

/** What is under way of one run. */
interface Part extends LogPart {
  readonly open: OpenLog;
}

/** Makes the log writer of a process; nothing is open. */
export function createLogWriter(dependencies: LogWriterDependencies): LogWriter {
  const { db, clock, log, metrics, nodeId, readers, leaseMs } = dependencies;
  /** The runs of which something waits, those that waited longest first. */
  const due = new Set<OpenLog>();
  let flushing: Promise<void> | null = null;

  function enqueue(open: OpenLog, entry: LogEntry, end: RunEnd | null, isTied: boolean): void {
    if (open.isLost || open.isDone) return;
    const last = open.waiting.at(-1);
    const merged = last === undefined || isTied ? null : merge(last.entry, entry);
    if (last !== undefined && merged !== null) {
      const characters = charactersOf(merged);
      open.characters += characters - last.characters;
      open.waiting[open.waiting.length - 1] = { ...last, entry: merged, characters };
    } else {
      const characters = charactersOf(entry);
      open.characters += characters;
      open.waiting.push({ entry, end, isTied, characters });
    }
    due.add(open);
    flushing ??= flush();
  }

  /** Never rejects. */
  async function flush(): Promise<void> {
    // What happens in the same turn of the event loop goes together.
    await Promise.resolve();
    while (due.size > 0) {
      const before = performance.eventLoopUtilization();
      await write(takeBatch());
      await rest(performance.eventLoopUtilization(before).active);
    }
    flushing = null;
  }

  function takeBatch(): Part[] {
    const batch: Part[] = [];
    let characters = 0;
    for (const open of [...due]) {
      if (characters >= batchCharactersMax) break;
      const part = takePart(open.waiting, open.seq, batchCharactersMax - characters);
      open.waiting = part.rest;
      open.seq = part.seq;
      characters += part.characters;
      batch.push({ open, ...part });
      due.delete(open);
      // To the end of the line, so that one that says much does not hold up the others.
      if (open.waiting.length > 0) due.add(open);
    }
    return batch;
  }

  async function write(batch: readonly Part[]): Promise<void> {
    if (batch.length === 0) return;
    const begunMs = performance.now();
    const deadlineMs = begunMs + leaseMs;
    for (let retryMs = retryMsMin; ; retryMs = Math.min(2 * retryMs, retryMsMax)) {
      try {
        const entries = batch.map((part) => ({ run: part.open.run, ...part.entries }));
        const written = await writeLog(db, nodeId, entries, clock());
        metrics.logFlushed((performance.now() - begunMs) / 1000);
        settle(batch, written);
        return;
      } catch (err) {
        const runIds = batch.map(({ open }) => open.run.id);
        if (!isPassing(err) && batch.length > 1) {
          // Something in one of them: the others are written all the same.
          for (const part of batch) await write([part]);
          return;
        }
        if (!isPassing(err) || performance.now() > deadlineMs) {
          log.error({ err, runIds }, 'runs are given up, since their logs could not be written');
          for (const { open } of batch) lose(open);
          return;
        }
        if (retryMs === retryMsMin) log.warn({ err, runIds }, 'the logs of runs could not be written; trying again');
      }
      await pause(retryMs, undefined, { ref: false });
    }
  }

  function settle(batch: readonly Part[], written: ReadonlySet<RunClaim>): void {
    for (const { open, entries, lines, characters } of batch) {
      if (entries.end !== null && written.has(open.run)) metrics.runEnded(entries.end.state);
      // Dropped meanwhile: what is durable is found in the store.
      if (open.isDone) continue;
      if (!written.has(open.run)) {
        lose(open);
        continue;
      }
      if (lines.length > 0) readers.push(open.run.id, lines);
      open.characters -= characters;
      if (entries.end !== null) finish(open);
      wake(open);
    }
  }

  /** The run is not this node's: nothing more of it is written, and who writes it is told. */
  function lose(open: OpenLog): void {
    if (open.isDone) return;
    finish(open);
    open.isLost = true;
    open.onLost();
    wake(open);
  }

  function finish(open: OpenLog): void {
    open.isDone = true;
    open.waiting = [];
    due.delete(open);
    readers.end(open.run.id);
  }

  return {
    open(run, seq, onLost) {
      const open: OpenLog = {
        run,
        onLost,
        seq,
        waiting: [],
        characters: 0,
        isLost: false,
        isDone: false,
        news: Promise.withResolvers(),
      };
      readers.begin(run.id, seq);
      return {
        get isLost() {
          return open.isLost;
        },
        append: (entry) => enqueue(open, entry, null, false),
        get isFull() {
          return isFull(open);
        },
        async room() {
          while (isFull(open)) await open.news.promise;
        },
        async end(entries, end) {
          for (const [index, entry] of entries.entries()) {
            enqueue(open, entry, index === entries.length - 1 ? end : null, index > 0);
          }
          while (!open.isDone) await open.news.promise;
        },
        drop() {
          if (open.isDone) return;
          finish(open);
          open.isLost = true;
          wake(open);
        },
      };
    },
    async idle() {
      while (flushing !== null) await flushing;
    },
  };
}

const isFull = ({ isDone, characters }: OpenLog): boolean => !isDone && characters > waitingCharactersMax;

function wake(open: OpenLog): void {
  open.news.resolve();
  open.news = Promise.withResolvers();
}

/** Whether the same statement may succeed a little later. */
function isPassing(error: unknown): boolean {
  // deadlock_detected (a thread is deleted at the same time), serialization_failure
  return isStoreAway(error) || ['40P01', '40001'].includes(String(codeOf(error)));
}

/**
 * Between two statements: in proportion to how long the one before has kept this thread busy, so that writing takes a quarter of it
 * at most where the store runs in this process, and what is said meanwhile goes along. A store elsewhere costs next to nothing here.
 */
async function rest(busyMs: number): Promise<void> {
  if (busyMs < busyMsMin) await new Promise((resolve) => setImmediate(resolve));
  else await pause(Math.min(restPerBusy * busyMs, restMsMax), undefined, { ref: false });
}
