/** So many places for work at once; who comes later waits in the order of coming. Kept in this process only. */

/** Places of which each is one's own until it is given back. */
export interface Semaphore {
  /** True when no place is taken, and so nobody waits. */
  readonly isIdle: boolean;
  /**
   * Takes a place, waiting for one to become free; disposing gives it back, once.
   * @throws the signal's reason when it aborts before there is one
   */
  enter(signal: AbortSignal): Promise<Disposable>;
}

/** Makes a semaphore of `placesMax` places, all free. */
export function createSemaphore(placesMax: number): Semaphore {
  let taken = 0;
  const waiting: (() => void)[] = [];
  return {
    get isIdle() {
      return taken === 0;
    },
    async enter(signal) {
      signal.throwIfAborted();
      if (taken < placesMax) taken += 1;
      else await waitIn(waiting, signal);
      return {
        [Symbol.dispose]() {
          // Handed over where somebody waits, so that nobody new gets in between.
          const next = waiting.shift();
          if (next === undefined) taken -= 1;
          else next();
        },
      };
    },
  };
}

/** Resolves when the queue's turn comes. One that gives up stands in it no longer, so that its place is not lost. */
async function waitIn(waiting: (() => void)[], signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const onAbort = (): void => {
    const at = waiting.indexOf(resolve);
    if (at >= 0) waiting.splice(at, 1);
    reject(signal.reason);
  };
  waiting.push(resolve);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    await promise;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
