/**
 * Keeps answers for a while, and asks once for those who ask the same at the same time. The key says everything that an answer
 * depends on; who makes it up answers for that.
 */
import { LRUCache } from 'lru-cache';
import { settleUntil } from '../waiting.ts';

/** What is asked for, and how it is found when it is not kept. */
export interface Asked<T> {
  /** How long the answer may be kept, in milliseconds; 0: it is shared by those who wait for it, and not kept. */
  readonly keptMs: number;
  /** Of the one who asks. Nobody else is stopped by it; the reading is, once nobody waits for it any more. */
  readonly signal: AbortSignal;
  readonly read: (signal: AbortSignal) => Promise<T>;
}

/** Answers by key. */
export interface AnswerCache<T> {
  /** The kept answer, the one that is being read, or a new one. @throws what `read` throws; the signal's reason when aborted */
  get(key: string, asked: Asked<T>): Promise<T>;
}

/** A reading, with how many wait for it. */
interface Flight<T> {
  readonly answer: Promise<T>;
  readonly stop: AbortController;
  waiting: number;
}

/**
 * Makes a cache; nothing is kept yet.
 * @param options.bytesMax of all that is kept, keys included; the longest unused go first. 0: nothing is kept or shared
 * @param options.bytesOf the size of an answer, about; one that is larger than an eighth of `bytesMax` is not kept
 */
export function createAnswerCache<T extends object>({
  bytesMax,
  bytesOf,
}: {
  readonly bytesMax: number;
  readonly bytesOf: (answer: T) => number;
}): AnswerCache<T> {
  if (bytesMax === 0) return { get: (_key, { signal, read }) => read(signal) };
  const kept = new LRUCache<string, T>({
    maxSize: bytesMax,
    maxEntrySize: Math.ceil(bytesMax / 8),
    sizeCalculation: (answer, key) => Math.ceil(bytesOf(answer)) + 2 * key.length + 1,
  });
  const flights = new Map<string, Flight<T>>();

  const begin = (key: string, { keptMs, read }: Asked<T>): Flight<T> => {
    const stop = new AbortController();
    const flight: Flight<T> = { answer: read(stop.signal), stop, waiting: 0 };
    flights.set(key, flight);
    const land = (): void => {
      if (flights.get(key) === flight) flights.delete(key);
    };
    flight.answer.then((answer) => {
      // Nobody may have waited to the end: what was stopped is not an answer to keep.
      if (keptMs > 0 && !stop.signal.aborted) kept.set(key, answer, { ttl: keptMs });
      land();
    }, land);
    return flight;
  };

  return {
    async get(key, asked) {
      asked.signal.throwIfAborted();
      const known = kept.get(key);
      if (known !== undefined) return known;
      const flight = flights.get(key) ?? begin(key, asked);
      flight.waiting += 1;
      try {
        return await settleUntil(flight.answer, asked.signal);
      } finally {
        flight.waiting -= 1;
        if (flight.waiting === 0 && flights.get(key) === flight) {
          // The next one who asks must not wait for what is being stopped.
          flights.delete(key);
          flight.stop.abort(asked.signal.reason);
        }
      }
    },
  };
}
