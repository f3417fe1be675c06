/**
 * The values of dimensions, kept for a while. A list is kept under the compiled query with all its bound values, policies
 * and their values included, so two users share one exactly where the warehouse would be asked the same.
 */
import type { CompiledQuery } from '@inlay/semantic/compile-sql.ts';
import { queryKey } from './query-key.ts';

/** How long a list is kept: a value that is new in the warehouse is not found for as long. */
const keptMs = 300_000;
/** Lists, and values in all of them; beyond either the oldest go. */
const listsMax = 2000;
const valuesMax = 200_000;

/** The kept lists of one deployment. */
export interface ValueLists {
  /**
   * The list of a query: kept, or read now. Who asks while it is read waits for the same answer; when that reading fails, or
   * its reader is aborted, the next one reads for itself.
   */
  get(
    query: Pick<CompiledQuery, 'sql' | 'parameters'>,
    now: Date,
    read: () => Promise<readonly string[]>,
  ): Promise<readonly string[]>;
}

/** Makes the lists of a deployment; none is kept yet. */
export function createValueLists(): ValueLists {
  interface Entry {
    readonly list: Promise<readonly string[]>;
    readonly readAtMs: number;
    size: number;
  }
  const entries = new Map<string, Entry>();
  let values = 0;
  const drop = (key: string, entry: Entry) => {
    if (entries.get(key) !== entry) return;
    entries.delete(key);
    values -= entry.size;
  };

  return {
    async get(query, now, read) {
      const key = queryKey(query);
      for (let known = entries.get(key); known !== undefined; known = entries.get(key)) {
        const isFresh = now.getTime() - known.readAtMs < keptMs;
        const list = isFresh ? await known.list.catch(() => null) : null;
        if (list !== null) return list;
        drop(key, known);
      }
      const entry: Entry = { list: read(), readAtMs: now.getTime(), size: 0 };
      entries.set(key, entry);
      try {
        const list = await entry.list;
        if (entries.get(key) === entry) {
          entry.size = list.length;
          values += list.length;
        }
        for (const [oldKey, old] of entries) {
          if (entries.size <= listsMax && values <= valuesMax) break;
          drop(oldKey, old);
        }
        return list;
      } catch (error) {
        drop(key, entry);
        throw error;
      }
    },
  };
}
