/**
 * The latest lines of one run, in memory for all who read it here. Lines come from the writer in this process (`push`) or from the
 * store (`take`); the tail holds an unbroken piece of the log whoever they come from, and forgets its oldest lines.
 */
import type { LogLine } from './thread-log.ts';

/** A line of the log, or a place that holds none: a step of the agent. */
export type StoredEntry = LogLine | { readonly seq: number; readonly text: null };

/** What a reader at a place of the log finds next: a line, nothing yet, or that it has left the memory. */
export type Next = LogLine | 'nothing yet' | 'forgotten';

/** A piece of a run's log. */
export interface RunTail {
  /** The place up to which everything is known: what comes next is above it. */
  readonly end: number;
  /** All that comes after `end` is pushed, so that the store need not be asked. */
  readonly isFed: boolean;
  /** The last line of the run is known. */
  readonly isComplete: boolean;
  /** The next line after `seq`. */
  after(seq: number): Next;
  /** This process writes the run: all lines above `seq` are going to be pushed. */
  feed(seq: number): void;
  /** The next lines of the writer in this process, after `feed`. @returns whether there is anything new to read. */
  push(lines: readonly LogLine[]): boolean;
  /** This process writes the run no more. */
  unfeed(): void;
  /** The entries of the store after `end`, without gaps. @returns as `push`. */
  take(entries: readonly StoredEntry[]): boolean;
}

/**
 * Begins after the place `from`; nobody feeds it.
 * @param rememberedMax the characters of lines that it may remember at this moment; of more it forgets the oldest.
 */
export function createRunTail(from: number, rememberedMax: () => number): RunTail {
  let lines: LogLine[] = [];
  /** How many of `lines`, from the front, are forgotten: they are cut off now and then. */
  let forgotten = 0;
  let characters = 0;
  let forgottenCharacters = 0;
  /** Everything up to here was never known or is forgotten. */
  let begin = from;
  let end = from;
  let isComplete = false;
  /** Above this place everything is pushed; null: nothing is. */
  let fedFrom: number | null = null;
  /** What was pushed while something below it was not known: it waits until the store has told that. */
  let ahead: LogLine[] = [];
  let aheadCharacters = 0;

  const isFed = (): boolean => fedFrom !== null && fedFrom <= end;

  function add(line: LogLine): void {
    lines.push(line);
    characters += line.text.length;
    end = line.seq;
    isComplete ||= line.isLast;
    const charactersMax = rememberedMax();
    // One line is always kept, however long it is.
    while (characters > charactersMax && forgotten < lines.length - 1) {
      const oldest = lines[forgotten];
      if (oldest === undefined) break;
      characters -= oldest.text.length;
      forgottenCharacters += oldest.text.length;
      begin = oldest.seq;
      forgotten += 1;
    }
    if (forgotten * 2 > lines.length || forgottenCharacters * 4 > charactersMax) {
      lines = lines.slice(forgotten);
      forgotten = 0;
      forgottenCharacters = 0;
    }
  }

  function addNew(more: readonly LogLine[]): boolean {
    const before = end;
    for (const line of more) if (line.seq > end) add(line);
    return end > before;
  }

  /** Takes what waited, where nothing is missing any more. */
  function catchUp(): boolean {
    if (!isFed() || ahead.length === 0) return false;
    const waited = ahead;
    ahead = [];
    aheadCharacters = 0;
    return addNew(waited);
  }

  return {
    get end() {
      return end;
    },
    get isFed() {
      return isFed();
    },
    get isComplete() {
      return isComplete;
    },
    after(seq) {
      if (seq < begin) return 'forgotten';
      let [low, high] = [forgotten, lines.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        if ((lines[middle]?.seq ?? 0) > seq) high = middle;
        else low = middle + 1;
      }
      return lines[low] ?? 'nothing yet';
    },
    feed(seq) {
      ahead = [];
      aheadCharacters = 0;
      fedFrom = seq;
    },
    push(more) {
      if (fedFrom === null) return false;
      if (isFed()) return addNew(more);
      ahead.push(...more);
      aheadCharacters += more.reduce((sum, { text }) => sum + text.length, 0);
      if (aheadCharacters > rememberedMax()) {
        // Too much to keep: the store tells that as well.
        fedFrom = ahead.at(-1)?.seq ?? fedFrom;
        ahead = [];
        aheadCharacters = 0;
      }
      return false;
    },
    unfeed() {
      fedFrom = null;
      ahead = [];
      aheadCharacters = 0;
    },
    take(entries) {
      let hasNews = false;
      for (const entry of entries) {
        if (entry.seq <= end) continue;
        if (entry.seq !== end + 1 && !isFed()) throw new Error('the entries of a log have a gap');
        if (entry.text === null) end = entry.seq;
        else {
          add(entry);
          hasNews = true;
        }
      }
      return catchUp() || hasNews;
    },
  };
}
