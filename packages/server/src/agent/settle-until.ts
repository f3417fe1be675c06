/** Waiting for others' work no longer than a signal allows, whether they heed it or not. */
import { InlayError } from '../errors.ts';

/** What `promise` settles with, or the signal's reason as soon as it aborts. The work is left to end by itself. */
export async function settleUntil<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason);
  // The loser of the race must not become an unhandled rejection.
  promise.catch(() => undefined);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([aborted, promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/**
 * What a language model's stream gives, until `signal` aborts or the stream is silent for `silenceMs`. The stream's own signal
 * aborts whenever reading ends early, so that nothing goes on unread.
 * @throws the signal's reason; InlayError LANGUAGE_MODEL_TIMEOUT; what the stream throws, an unknown error as
 * LANGUAGE_MODEL_FAILED with its cause.
 */
export async function* readUntil<T>(
  open: (signal: AbortSignal) => AsyncIterable<T>,
  signal: AbortSignal,
  silenceMs: number,
): AsyncGenerator<T> {
  const own = new AbortController();
  const either = AbortSignal.any([signal, own.signal]);
  // Silence is the stream's only while we listen, not while our own reader takes its time.
  let isListening = false;
  const silence = setTimeout(() => {
    if (isListening) own.abort(new InlayError('LANGUAGE_MODEL_TIMEOUT', 'The language model did not answer in time.'));
  }, silenceMs);
  // One listener for the whole stream, as a token is a small thing to wait for.
  let stopWaiting: (reason: unknown) => void = () => undefined;
  either.addEventListener('abort', () => stopWaiting(either.reason), { once: true });
  try {
    const events = open(either)[Symbol.asyncIterator]();
    while (true) {
      either.throwIfAborted();
      silence.refresh();
      isListening = true;
      const next = await new Promise<IteratorResult<T>>((resolve, reject) => {
        stopWaiting = reject;
        events.next().then(resolve, reject);
      });
      isListening = false;
      if (next.done) return;
      yield next.value;
    }
  } catch (error) {
    if (either.aborted) throw either.reason;
    if (error instanceof InlayError) throw error;
    throw new InlayError('LANGUAGE_MODEL_FAILED', 'The language model failed.', { cause: error });
  } finally {
    clearTimeout(silence);
    own.abort(new InlayError('ABORTED', 'The turn has ended.'));
  }
}
