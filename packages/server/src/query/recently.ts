/** Remembers for a moment what was looked up: many who ask at once cost one look. */

/** What is found under each key. */
export interface Recently<T> {
  /** What `look` finds, looked up at most once in the time kept. What is not there (null) is looked for every time. */
  get(key: string, look: () => Promise<T | null>): Promise<T | null>;
}

/** Nothing is remembered yet. @param options.keptMs milliseconds; `keysMax`: beyond, the oldest are forgotten */
export function createRecently<T>({
  keptMs,
  keysMax,
}: {
  readonly keptMs: number;
  readonly keysMax: number;
}): Recently<T> {
  interface Entry {
    readonly untilMs: number;
    readonly found: Promise<T | null>;
  }
  const entries = new Map<string, Entry>();
  return {
    get(key, look) {
      const nowMs = performance.now();
      const known = entries.get(key);
      if (known !== undefined && known.untilMs > nowMs) return known.found;
      const entry: Entry = { untilMs: nowMs + keptMs, found: look() };
      entries.delete(key);
      entries.set(key, entry);
      const forget = (): void => {
        if (entries.get(key) === entry) entries.delete(key);
      };
      entry.found.then((found) => {
        if (found === null) forget();
      }, forget);
      for (const oldest of entries.keys()) {
        if (entries.size <= keysMax) break;
        entries.delete(oldest);
      }
      return entry.found;
    },
  };
}
