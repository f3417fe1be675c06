/** Work that a process does again and again, one round after the other, until it stops. */

/** When the rounds are. Times in milliseconds. */
export interface Rounds {
  /** From now to the first round. */
  readonly firstMs: number;
  /** From the end of a round to the next one. */
  readonly everyMs: number;
}

/**
 * Does `round` again and again. A round that fails is told to `onError`, which must not throw, and the next one comes all the
 * same. Keeps no process alive. Disposing aborts the signal and resolves when the round under way has ended: nothing comes after.
 */
export function repeat(
  round: (stopped: AbortSignal) => Promise<void>,
  { firstMs, everyMs }: Rounds,
  onError: (error: unknown) => void,
): AsyncDisposable {
  const stop = new AbortController();
  let underWay: Promise<void> | undefined;
  let timer = next(firstMs);

  function next(ms: number): NodeJS.Timeout {
    return setTimeout(() => {
      underWay = begin();
    }, ms).unref();
  }

  async function begin(): Promise<void> {
    try {
      await round(stop.signal);
    } catch (error) {
      onError(error);
    }
    if (!stop.signal.aborted) timer = next(everyMs);
  }

  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      clearTimeout(timer);
      await underWay;
    },
  };
}
