/** Who works next when there are more runs than places: the accounts take turns, and within an account who came first. Pure. */

/** Things that wait, each under a key. */
export interface FairQueue<T> {
  readonly size: number;
  /** To the end of its key's own line. */
  push(key: number, item: T): void;
  /** The next one; its key goes behind all others that have something waiting. */
  shift(): T | undefined;
  /** Takes one out that does not wait any longer. @returns whether it was waiting. */
  remove(key: number, item: T): boolean;
}

/** Makes an empty queue. */
export function createFairQueue<T>(): FairQueue<T> {
  /** In the order of their turns. No line is empty. */
  const lines = new Map<number, Set<T>>();
  let size = 0;
  return {
    get size() {
      return size;
    },
    push(key, item) {
      const line = lines.get(key) ?? new Set();
      if (line.has(item)) return;
      line.add(item);
      lines.set(key, line);
      size += 1;
    },
    shift() {
      for (const [key, line] of lines) {
        lines.delete(key);
        for (const item of line) {
          line.delete(item);
          size -= 1;
          if (line.size > 0) lines.set(key, line);
          return item;
        }
      }
      return undefined;
    },
    remove(key, item) {
      const line = lines.get(key);
      if (line?.delete(item) !== true) return false;
      size -= 1;
      if (line.size === 0) lines.delete(key);
      return true;
    },
  };
}

/** The places for runs that this process works on. */
export interface RunPlaces {
  /** How many more may work or wait. */
  readonly room: number;
  /** How many work. */
  readonly taken: number;
  /** How many wait. */
  readonly waiting: number;
  /**
   * Calls `work` as soon as there is a place, now or later; the place is given back when it settles, which must be without failure.
   * @returns a function that calls it at once if it still waits, place or not: for work that has nothing left to do but to end.
   */
  enter(accountId: number, work: () => Promise<void>): () => void;
}

/** Makes `placesMax` places, for which `waitingMax` may wait. */
export function createRunPlaces(placesMax: number, waitingMax: number): RunPlaces {
  const waiting = createFairQueue<() => Promise<void>>();
  let taken = 0;

  async function occupy(work: () => Promise<void>): Promise<void> {
    taken += 1;
    await work();
    taken -= 1;
    while (taken < placesMax) {
      const next = waiting.shift();
      if (next === undefined) return;
      void occupy(next);
    }
  }

  return {
    get room() {
      return placesMax + waitingMax - taken - waiting.size;
    },
    get taken() {
      return taken;
    },
    get waiting() {
      return waiting.size;
    },
    enter(accountId, work) {
      if (taken < placesMax) {
        void occupy(work);
        return () => undefined;
      }
      waiting.push(accountId, work);
      return () => {
        if (waiting.remove(accountId, work)) void occupy(work);
      };
    },
  };
}
