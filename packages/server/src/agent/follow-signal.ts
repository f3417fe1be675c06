/** A signal of one's own that aborts with another's. */

/** Aborts its signal when told to, or when the signal that it follows aborts. Disposing ends the following, and nothing else. */
export interface SignalFollower extends Disposable {
  readonly signal: AbortSignal;
  abort(reason: unknown): void;
}

/**
 * Begins to follow `followed`, whose reason is passed on. What `AbortSignal.any` gives does the same, but to ask that whether it has
 * aborted, as is done with every token, costs more than the rest of the token's way, and it takes several times the memory.
 */
export function followSignal(followed: AbortSignal): SignalFollower {
  const own = new AbortController();
  const onAbort = (): void => own.abort(followed.reason);
  if (followed.aborted) onAbort();
  else followed.addEventListener('abort', onAbort, { once: true });
  return {
    signal: own.signal,
    abort: (reason) => own.abort(reason),
    [Symbol.dispose]: () => followed.removeEventListener('abort', onAbort),
  };
}
