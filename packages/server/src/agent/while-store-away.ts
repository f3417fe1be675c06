/** Going on when the store is away for a moment: what an agent reads, it reads again. */
import { setTimeout as pause } from 'node:timers/promises';
import { isStoreAway } from '../store/store-away.ts';

/** How long a run waits for the store, in milliseconds: a restart takes less, and nobody waits longer for an answer. */
const waitMsMax = 60_000;
const retryMs = { first: 50, max: 1000 };

/**
 * What `work` gives, begun anew as long as the store does not answer; it must only read. The signal ends the waiting.
 * @throws what the work throws; its last failure when the store stays away for a minute, or the signal aborts
 */
export async function whileStoreAway<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  const deadlineMs = performance.now() + waitMsMax;
  for (let waitMs = retryMs.first; ; waitMs = Math.min(2 * waitMs, retryMs.max)) {
    try {
      return await work();
    } catch (error) {
      if (!isStoreAway(error) || signal.aborted || performance.now() > deadlineMs) throw error;
      await pause(waitMs, undefined, { signal }).catch(() => undefined);
    }
  }
}
