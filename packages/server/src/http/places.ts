/** Places for work that holds memory for as long as a client takes to read: so many for each user, more wait their turn. */
import { InlayError } from '../errors.ts';
import { waitTurn } from '../wait-turn.ts';

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
  interface Own {
    taken: number;
    readonly waiting: (() => void)[];
  }
  const users = new Map<number, Own>();

  return {
    async enter(userId, { signal, timeoutMs }) {
      signal.throwIfAborted();
      const own: Own = users.get(userId) ?? { taken: 0, waiting: [] };
      users.set(userId, own);
      if (own.taken < perUserMax) own.taken += 1;
      // Whoever leaves hands the place over, so that nobody new gets in between.
      else {
        const timeout = AbortSignal.timeout(timeoutMs);
        await waitTurn(own.waiting, AbortSignal.any([signal, timeout])).catch((reason: unknown) => {
          if (reason !== timeout.reason) throw reason;
          throw new InlayError('QUERY_TIMEOUT', `Earlier queries of this user took longer than ${timeoutMs / 1000} s.`);
        });
      }
      return {
        [Symbol.dispose]() {
          const next = own.waiting.shift();
          if (next !== undefined) next();
          else if (--own.taken === 0) users.delete(userId);
        },
      };
    },
  };
}
