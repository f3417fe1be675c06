/**
 * Waits in a queue: resolves when whoever frees a place calls the first function of `waiting`. One that gives up, because
 * `signal` aborts, stands in the queue no longer, so that its turn is not lost.
 * @throws the signal's reason
 */
export async function waitTurn(waiting: (() => void)[], signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
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
