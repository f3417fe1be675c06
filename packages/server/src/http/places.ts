/** Places for work that holds memory for as long as a client takes to read: so many for each user, more wait their turn. */
import { InlayError } from '../errors.ts';
import { createSemaphore, type Semaphore } from '../semaphore.ts';

/** The places of a process. */
export interface Places {
  /**
   * Takes a place for the user, waiting for one to become free; disposing gives it back.
   * @throws InlayError QUERY_TIMEOUT after `timeoutMs`; the signal's reason when it aborts.
   */
  enter(userId: number, wait: { readonly signal: AbortSignal; readonly timeoutMs: number }): Promise<Disposable>;
}

/** Makes places, `perUserMax` for each user; a user who holds none costs nothing. */
export function createPlaces(perUserMax: number): Places {
  const users = new Map<number, Semaphore>();

  return {
    async enter(userId, { signal, timeoutMs }) {
      signal.throwIfAborted();
      const own = users.get(userId) ?? createSemaphore(perUserMax);
      users.set(userId, own);
      const timeout = AbortSignal.timeout(timeoutMs);
      const place = await own.enter(AbortSignal.any([signal, timeout])).catch((reason: unknown) => {
        if (reason !== timeout.reason) throw reason;
        throw new InlayError('QUERY_TIMEOUT', `Earlier queries of this user took longer than ${timeoutMs / 1000} s.`);
      });
      return {
        [Symbol.dispose]() {
          place[Symbol.dispose]();
          if (own.isIdle) users.delete(userId);
        },
      };
    },
  };
}
