/** What was read from the store, not read again while nothing at all was written: what is kept is what would be read. */
import { LRUCache } from 'lru-cache';
import type { Changes } from './changes.ts';

/** Something read, and until when it holds if nobody writes: null is for ever. */
export interface Ending<Value> {
  readonly value: Value;
  readonly endsAt: Date | null;
}

/** Values by key. */
export interface KeptReads<Value> {
  /**
   * What `read` gives: asked anew, or by somebody before since the last write of this process to the store. Where others write to it
   * too, asked anew each time. A failure is not kept.
   * @param now from `endsAt` on a value is not given any more
   * @throws what `read` throws
   */
  get(key: string, now: Date, read: () => Promise<Ending<Value>>): Promise<Value>;
}

interface Read<Value> {
  /** {@link Changes.writes} before it began. */
  readonly writes: number;
  readonly found: Promise<Ending<Value>>;
}

/** Nothing is kept yet. `countMax`: of those kept the one unused for longest goes first. */
export function createKeptReads<Value>(changes: Pick<Changes, 'writes'>, countMax: number): KeptReads<Value> {
  const reads = new LRUCache<string, Read<Value>>({ max: countMax });
  return {
    async get(key, now, read) {
      const writes = changes.writes();
      if (writes === null) return (await read()).value;
      const known = reads.get(key);
      if (known?.writes === writes) {
        const { value, endsAt } = await known.found;
        if (endsAt === null || now < endsAt) return value;
      }
      const own = { writes, found: read() };
      reads.set(key, own);
      try {
        return (await own.found).value;
      } catch (error) {
        if (reads.get(key) === own) reads.delete(key);
        throw error;
      }
    },
  };
}
