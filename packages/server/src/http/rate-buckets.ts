/** So many requests a minute for each key, refilled evenly; kept in this process only, in bounded memory. */

/** The requests of many keys. Times are milliseconds on a clock that never goes back. */
export interface RateBuckets {
  /**
   * Takes one request of `key`, of which a minute has `perMinuteMax`: all at once, or spread over it.
   * @returns null, or in how many whole seconds (at least 1) there is one again; then nothing was taken.
   */
  take(key: string, perMinuteMax: number): number | null;
}

const minuteMs = 60_000;
/** More than what fractions of milliseconds add up to by rounding. */
const roundingMs = 0.001;

/**
 * Makes empty buckets.
 *
 * How: of each key one number is kept, the time at which its bucket is full again; a request moves it on by the time that one
 * request takes to refill. A bucket that is full is the same as none, so that only keys of the last minute are kept, and when
 * those are more than `keysMax`, the one that was idle for longest is forgotten: in its favour.
 */
export function createRateBuckets(keysMax: number, nowMs: () => number): RateBuckets {
  /** In the order of use: setting a key puts it last. */
  const fullAtMs = new Map<string, number>();

  const waitMs = (full: number, now: number, refillMs: number): number => full - now + refillMs - minuteMs;
  const seconds = (ms: number): number | null => (ms <= roundingMs ? null : Math.max(1, Math.ceil(ms / 1000)));

  return {
    take(key, perMinuteMax) {
      const now = nowMs();
      const refillMs = minuteMs / perMinuteMax;
      const full = Math.max(fullAtMs.get(key) ?? now, now);
      const wait = seconds(waitMs(full, now, refillMs));
      if (wait !== null) return wait;
      fullAtMs.delete(key);
      fullAtMs.set(key, full + refillMs);
      // From the one that was idle for longest: what is full again goes, and what is too much.
      for (const [old, oldFull] of fullAtMs) {
        if (oldFull > now && fullAtMs.size <= keysMax) break;
        if (old === key) break;
        fullAtMs.delete(old);
      }
      return null;
    },
  };
}
