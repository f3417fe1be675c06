/** Waiting for work, but not for ever. */

/**
 * What the work settles with, or the signal's reason as soon as it aborts; the work is then left to end by itself. Not `Promise.race`: a
 * promise that is raced again and again keeps what every race gave for as long as it lives.
 */
export function settleUntil<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const onAbort = (): void => reject(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  return promise;
}

/** What the work gives; `otherwise` when it fails or takes longer. Keeps no timer when it is done. */
export async function withinMs<T>(work: Promise<T>, ms: number, otherwise: T): Promise<T> {
  const { promise: late, resolve } = Promise.withResolvers<T>();
  const timer = setTimeout(() => resolve(otherwise), ms);
  try {
    return await Promise.race([work, late]);
  } catch {
    return otherwise;
  } finally {
    clearTimeout(timer);
  }
}
