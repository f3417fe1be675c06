/** What was read from the store, kept in memory for as long as the node hears of every change, and no longer. */
import { type Change, type Changes, isHearing } from './changes.ts';

/** Values by key. Disposing ends its subscription. */
export interface HeardCache<Value> extends Disposable {
  /**
   * The value under `key`: the one in memory where all changes up to a second ago have been heard, else what `read` gives. Null,
   * which is nothing, is not kept.
   * @throws what `read` throws
   */
  get(key: string, read: () => Promise<Value | null>): Promise<Value | null>;
}

/** What a cache needs. `nowMs` is the monotonic clock of {@link Changes}, in milliseconds. */
export interface HeardCacheSettings<Value> {
  readonly changes: Changes;
  /** How long a value is kept at most: the end of what somebody changed without telling. */
  readonly ageMsMax: number;
  /** Values kept at most; the one that was not used for longest goes first. */
  readonly sizeMax: number;
  /** Whether `value` may be another after `change`. */
  readonly isAffected: (value: Value, change: Change) => boolean;
  readonly nowMs?: () => number;
}

/** A read under way. */
interface Reading {
  readonly heard: Change[];
  isSpoilt: boolean;
}

/** Makes an empty cache. */
export function createHeardCache<Value>(settings: HeardCacheSettings<Value>): HeardCache<Value> {
  const { changes, ageMsMax, sizeMax, isAffected, nowMs = () => performance.now() } = settings;
  // In the order of use, the latest last.
  const values = new Map<string, { readonly value: Value; readonly readMs: number }>();
  /**
   * Reads under way, each with what was heard since it began. A read may give the row of before a change that is heard while
   * the answer is on its way: such a value would never be dropped again, so it is not kept.
   */
  const reads = new Set<Reading>();

  const subscription = changes.subscribe((news) => {
    if (news.kind === 'gap') {
      values.clear();
      for (const one of reads) one.isSpoilt = true;
      return;
    }
    for (const [key, { value }] of values) if (isAffected(value, news)) values.delete(key);
    for (const one of reads) one.heard.push(news);
  });

  function keep(key: string, value: Value, readMs: number): void {
    values.delete(key);
    values.set(key, { value, readMs });
    if (values.size <= sizeMax) return;
    const [oldest] = values.keys();
    if (oldest !== undefined) values.delete(oldest);
  }

  return {
    async get(key, read) {
      const known = values.get(key);
      const askedMs = nowMs();
      if (known !== undefined && isHearing(changes, askedMs) && askedMs - known.readMs < ageMsMax) {
        keep(key, known.value, known.readMs);
        return known.value;
      }
      const own: Reading = { heard: [], isSpoilt: false };
      reads.add(own);
      try {
        const value = await read();
        if (value === null) values.delete(key);
        else if (!own.isSpoilt && !own.heard.some((change) => isAffected(value, change))) keep(key, value, askedMs);
        return value;
      } finally {
        reads.delete(own);
      }
    },
    [Symbol.dispose]: () => subscription[Symbol.dispose](),
  };
}
