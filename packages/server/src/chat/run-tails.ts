/**
 * The tails of runs that somebody in this process reads. A reader is a place in a log: it costs no memory but that, and the writer
 * never waits for it. Lines of runs that this process writes are pushed; those of others are asked for, for all runs in one
 * statement; and a reader who is behind what is remembered reads on in the store.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import { InlayError } from '../errors.ts';
import type { Schema } from '../store/schema.ts';
import { readRunLogs } from './run-log.ts';
import { createRunTail, type RunTail, type StoredEntry } from './run-tail.ts';
import type { LogLine, LogReaders } from './thread-log.ts';

/** Between two looks into the store for runs that other processes write. */
const lookMs = 40;
/** A run of which nothing comes for so long may have been deleted. */
const quietMs = 1000;
/** Characters of lines that a tail remembers at most, at least, and that all of them together do: the more are read, the less of each. */
const rememberedMax = 262_144;
const rememberedMin = 8_192;
const rememberedOfAllMax = 16_777_216;
/** Until the store is asked again after it has failed. */
const retryMs = 250;

/** Who reads which run from where on. */
export interface Following {
  readonly runId: string;
  /** The place in the log after which to begin: 0 for all of it. */
  readonly from: number;
  /** The reading ends when one of them aborts; at once, even where more is waiting. */
  readonly gone: AbortSignal;
  readonly ended: AbortSignal;
}

/** The tails of a process. */
export interface RunTails extends LogReaders {
  /**
   * The lines of the run from there on as they become durable. Ends after the last line; before it when a signal aborts, or when
   * the log goes no further, since the run is deleted or its log swept. The reading begins with the call, whoever asks when for
   * the first line.
   * @throws InlayError NOT_READY when the process stops: the run may go on elsewhere.
   */
  follow(following: Following): AsyncGenerator<LogLine, void, undefined>;
  /** How many runs are read. */
  readonly size: number;
  /** Cuts all readers off. */
  close(): void;
}

interface Entry {
  readonly runId: string;
  readonly tail: RunTail;
  readers: number;
  /** Resolved when there is something new; then replaced. */
  news: PromiseWithResolvers<void>;
  /** When something came, or was looked for, in milliseconds. */
  heardMs: number;
  isOver: boolean;
}

/** What tails need. */
export interface RunTailDependencies {
  readonly db: Kysely<Schema>;
  readonly log: { error(fields: object, message: string): void };
  /** Characters of lines that are remembered of each run, however many are read. */
  readonly rememberedMax?: number;
}

/** Makes the tails of a process; nobody reads. */
export function createRunTails({ db, log, rememberedMax: remembered }: RunTailDependencies): RunTails {
  const entries = new Map<string, Entry>();
  /** The runs that this process writes, each with the place up to which it has told its lines. */
  const own = new Map<string, number>();
  const closing = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let isLooking = false;
  let isFailing = false;

  function wake(entry: Entry): void {
    const { news } = entry;
    entry.news = Promise.withResolvers<void>();
    news.resolve();
  }

  /** Whether the store has to be asked for what comes next. */
  const isLookedFor = ({ tail, isOver }: Entry): boolean => !tail.isComplete && !isOver && !tail.isFed;

  /** Looks into the store after `ms`, unless that is going to happen earlier. */
  function lookIn(ms: number): void {
    if (isLooking || closing.signal.aborted) return;
    if (timer !== undefined && ms > 0) return;
    clearTimeout(timer);
    timer = setTimeout(look, ms).unref();
  }

  async function look(): Promise<void> {
    timer = undefined;
    const asked = [...entries.values()].filter(isLookedFor);
    if (asked.length === 0) return;
    isLooking = true;
    try {
      await lookFor(asked);
      isFailing = false;
    } catch (err) {
      if (!isFailing) log.error({ err }, 'the logs of runs could not be read');
      isFailing = true;
    } finally {
      isLooking = false;
    }
    if ([...entries.values()].some(isLookedFor)) lookIn(isFailing ? retryMs : lookMs);
  }

  async function lookFor(asked: readonly Entry[]): Promise<void> {
    const nowMs = performance.now();
    const questions = asked.map(({ runId, tail, heardMs }) => {
      return { runId, after: tail.end, isDue: nowMs - heardMs >= quietMs };
    });
    const found = await readRunLogs(db, questions);
    for (const [index, entry] of asked.entries()) {
      const news = found.get(entry.runId);
      if (news === undefined && questions[index]?.isDue !== true) continue;
      entry.heardMs = nowMs;
      const isNew = entry.tail.take(news?.entries ?? []);
      // This process may have begun to write it while the store was asked.
      if (news?.isOver === true && news.entries.length === 0 && isLookedFor(entry)) entry.isOver = true;
      if (isNew || entry.isOver) wake(entry);
    }
  }

  function attach({ runId, from }: Following): Entry {
    const known = entries.get(runId);
    const entry = known ?? makeEntry(runId, from);
    entry.readers += 1;
    if (isLookedFor(entry)) lookIn(0);
    return entry;
  }

  function makeEntry(runId: string, from: number): Entry {
    const told = own.get(runId);
    // Where this process has told more already, a reader gets that from the store, and goes on with what comes.
    const tail = createRunTail(Math.max(from, told ?? from), () => remembered ?? shareOf(entries.size));
    if (told !== undefined) tail.feed(told);
    const news = Promise.withResolvers<void>();
    const entry: Entry = { runId, tail, readers: 0, news, heardMs: performance.now(), isOver: false };
    entries.set(runId, entry);
    return entry;
  }

  function leave(entry: Entry): void {
    entry.readers -= 1;
    if (entry.readers === 0) entries.delete(entry.runId);
  }

  /** The next entries of the log in the store; null when it goes no further. Asks until the store answers. */
  async function readOn(
    runId: string,
    after: number,
    isStopped: () => boolean,
  ): Promise<readonly StoredEntry[] | null> {
    while (!isStopped()) {
      try {
        const news = (await readRunLogs(db, [{ runId, after, isDue: true }])).get(runId);
        if (news === undefined || (news.entries.length === 0 && news.isOver)) return null;
        if (news.entries.length > 0) return news.entries;
        throw new Error('the log of a run is behind what was read of it');
      } catch (err) {
        log.error({ err, runId }, 'the log of a run could not be read');
        await pause(retryMs, undefined, { signal: closing.signal }).catch(() => undefined);
      }
    }
    return [];
  }

  async function* read(
    entry: Entry,
    from: number,
    isStopped: () => boolean,
    stopReading: () => void,
  ): AsyncGenerator<LogLine, void, undefined> {
    let place = from;
    try {
      while (!isStopped()) {
        const { news } = entry;
        const next = entry.tail.after(place);
        if (next === 'forgotten') {
          const more = await readOn(entry.runId, place, isStopped);
          if (more === null) return;
          for (const one of more) {
            if (isStopped()) break;
            place = one.seq;
            if (one.text === null) continue;
            yield one;
            if (one.isLast) return;
          }
        } else if (next === 'nothing yet') {
          if (entry.tail.isComplete || entry.isOver) return;
          await news.promise;
        } else {
          place = next.seq;
          yield next;
          if (next.isLast) return;
        }
      }
      if (closing.signal.aborted) throw new InlayError('NOT_READY', 'The server is stopping.');
    } finally {
      stopReading();
    }
  }

  return {
    begin(runId, seq) {
      own.set(runId, seq);
      const entry = entries.get(runId);
      if (entry === undefined) return;
      entry.tail.feed(seq);
      entry.isOver = false;
      if (isLookedFor(entry)) lookIn(0);
    },

    push(runId, lines) {
      const last = lines.at(-1);
      if (last !== undefined) own.set(runId, last.seq);
      const entry = entries.get(runId);
      if (entry?.tail.push(lines) === true) wake(entry);
    },

    end(runId) {
      own.delete(runId);
      const entry = entries.get(runId);
      if (entry === undefined) return;
      entry.tail.unfeed();
      entry.heardMs = performance.now();
      if (isLookedFor(entry)) lookIn(0);
    },

    follow(following) {
      const { from, gone, ended } = following;
      const entry = attach(following);
      const onStop = (): void => wake(entry);
      let isReading = true;
      const stopReading = (): void => {
        if (!isReading) return;
        isReading = false;
        gone.removeEventListener('abort', onGone);
        ended.removeEventListener('abort', onStop);
        leave(entry);
      };
      // A stream that nobody begins to read is let go as well.
      const onGone = (): void => {
        onStop();
        stopReading();
      };
      gone.addEventListener('abort', onGone, { once: true });
      ended.addEventListener('abort', onStop, { once: true });
      if (gone.aborted) stopReading();
      const isStopped = (): boolean => gone.aborted || ended.aborted || closing.signal.aborted;
      return read(entry, from, isStopped, stopReading);
    },

    get size() {
      return entries.size;
    },

    close() {
      closing.abort();
      clearTimeout(timer);
      for (const entry of entries.values()) wake(entry);
    },
  };
}

/** The characters that each of so many tails may remember. */
function shareOf(tails: number): number {
  return Math.max(rememberedMin, Math.min(rememberedMax, Math.floor(rememberedOfAllMax / tails)));
}
