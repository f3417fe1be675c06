/** One at a time: work under the same key waits for the work before it. Kept in this process only. */

/** Runs `work` once everything begun earlier under `key` has settled; gives what it gives. */
export type Exclusively = <T>(key: string, work: () => Promise<T>) => Promise<T>;

/** Makes a set of locks; a key costs nothing when nobody holds it. */
export function createLocks(): Exclusively {
  const tails = new Map<string, Promise<void>>();
  return async (key, work) => {
    const before = tails.get(key);
    const { promise: own, resolve: release } = Promise.withResolvers<void>();
    tails.set(key, own);
    await before;
    try {
      return await work();
    } finally {
      if (tails.get(key) === own) tails.delete(key);
      release();
    }
  };
}
